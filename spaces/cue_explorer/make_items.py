"""Makes the bundled items: pairs of a cause or an effect and two choices, written for this Space, and their mirrors.

    python spaces/cue_explorer/make_items.py

As in many collected data sets, one word occurs more often in correct choices than in incorrect ones: here it is "was",
which was planted. Each mirrored item has the same choices with a new prompt that makes the other one correct.
"""

import csv
from pathlib import Path

import datasets

from rightreasons.core.resampling import item_rng
from rightreasons.datasets.perturbing.mirroring import mirror_dataset

ITEMS = Path(__file__).resolve().parent / "items.csv"
COLUMNS = ("id", "source_id", "mirrored", "premise", "question", "choice1", "choice2", "label")

# question | premise | correct choice | incorrect choice | premise that makes the incorrect choice correct
TEXT = """
effect | The glass fell off the shelf. | It was in pieces on the floor. | It held fresh juice. | The cook squeezed an orange into the glass.
effect | The cat saw the dog next door. | It was up the tree at once. | It curled up on the mat. | The cat grew sleepy by the fire.
cause | The lawn is wet. | Rain was falling all night. | Nobody mowed for weeks. | The lawn is overgrown.
cause | The baker ran out of bread. | The line was long that morning. | The oven broke on Monday. | The baker sold nothing but cold salads.
effect | Mia forgot her umbrella. | Her coat was soaked. | She won the race. | Mia trained every day of the spring.
cause | The train stopped before the bridge. | A tree was lying on the rails. | Passengers waited on the platform. | The train stopped in the village.
effect | The boy ate a whole cake. | His stomach was aching. | He slept through the lesson. | The boy stayed up past midnight.
cause | The shop closed early. | The owner was ill. | A new road led around the village. | The shop lost its customers.
effect | The lamp burned for a month. | The bulb was dead. | The desk stood empty. | The clerk moved to another office.
cause | The bread tasted salty. | The spoon was too large. | The yeast came from an old bag. | The dough did not rise.
effect | The team scored in the last minute. | The crowd was on its feet. | The coach drew up a new plan. | The team lost by five goals.
cause | Tom's shoes were muddy. | The path was flooded. | He polished them for an hour. | Tom's shoes shone like glass.
effect | Ana pressed the wrong key. | The letter was gone. | The music grew louder. | Ana turned the knob to the right.
cause | The plant died. | It was never watered. | It stood beside the window. | The plant bent to one side.
effect | The bus left without Leo. | He was late for work. | He read the whole paper. | Leo found a free seat for the long ride.
cause | The soup burned. | The cook was on the phone. | The guests brought flowers. | The table looked festive.
effect | The teacher told a joke. | There was laughter in the room. | There came a sigh from the back. | The teacher announced a test.
cause | The phone went silent. | The battery was empty. | Many calls came from abroad. | The phone bill doubled.
effect | It snowed all night. | The road was white. | The pond dried up. | No rain fell all summer.
cause | The dog barked. | A stranger was at the gate. | Its bowl held fresh meat. | The dog wagged its tail.
effect | The sun came out. | They took off their jackets. | The sky was full of smoke. | The factory caught fire.
cause | The man bought a map. | He lost his way twice. | His watch was broken. | The man asked for the time.
effect | The child let go of the balloon. | It rose above the roofs. | It was too big for the door. | The child blew and blew into the balloon.
cause | The door would not open. | The key broke off. | The paint was still wet. | The door left marks on her sleeve.
effect | The singer lost her voice. | The concert moved to May. | The fans asked for one more song. | The singer thrilled the hall.
cause | The road closed. | A bridge cracked. | Lanterns hung from the trees. | The road looked festive.
effect | The farmer sowed in April. | Corn stood high in August. | Weeds covered the field. | The farmer left his land alone.
cause | The children whispered. | A baby slept beside them. | Their team scored. | The children cheered.
effect | The clock stopped. | Everyone came too late. | Nobody slept that night. | The clock struck every quarter of an hour.
cause | The cup cracked. | Boiling tea met cold china. | A thick cloth lay around it. | The cup survived the long trip.
effect | The actor forgot his lines. | A voice whispered from below. | Roses flew onto the stage. | The actor gave the show of his life.
cause | The pilot turned back. | A warning light blinked. | The passengers clapped. | The pilot bowed.
effect | The ice melted. | The skaters went home. | The children fetched their skates. | The pond froze.
cause | The letter came back. | It bore no stamp. | It carried good news. | The letter made her smile.
effect | The museum made entry free. | Long lines formed. | Guards sent visitors away. | The museum closed for repairs.
cause | The river rose. | Snow melted in the hills. | No cloud had come for weeks. | The river ran dry.
"""


def main() -> None:
    """Write the originals, each followed by its mirror; `mirror_dataset` checks the balance."""
    rows = []
    prompts = {}
    for number, line in enumerate(TEXT.strip().splitlines(), start=1):
        question, premise, correct, incorrect, mirrored = (
            field.strip() for field in line.split("|")
        )
        # The position of the correct choice must not give it away.
        label = int(item_rng(0, number).integers(2))
        choices = [correct, incorrect]
        if label == 1:
            choices.reverse()
        row = {
            "id": number,
            "premise": premise,
            "question": question,
            "choice1": choices[0],
            "choice2": choices[1],
        }
        rows.append({**row, "label": label})
        prompts[number] = mirrored
    # A mirror that does not balance every word is refused.
    balanced = mirror_dataset(datasets.Dataset.from_list(rows), prompts)
    with ITEMS.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "mirrored": str(row["mirrored"]).lower()} for row in balanced)


if __name__ == "__main__":
    main()
