"""The demo of this measurement: type items with their choices, and see which words give the answers away."""

from rightreasons.widget.demos import module_page
from rightreasons.widget.pages import launch

EXAMPLE = {
    "data": [
        ["The man fell down.", "A man sang."],
        ["The dog slept.", "The dog sat down."],
        ["She sat down.", "The girl smiled."],
        ["He wrote a letter.", "The vase fell down."],
        ["They cheered.", "A tree came down."],
        ["The boy slipped down.", "He saw a bird."],
    ],
    "labels": [0, 1, 0, 1, 1, 0],
}


def build():
    return module_page(__file__, EXAMPLE, options={"top": 20})


if __name__ == "__main__":
    launch(build())
