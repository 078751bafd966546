"""Words in, numbers out, and back."""

from ffnlib.specimen.tokenizer import BOS, UNK, load_tokenizer, split


def test_a_text_of_known_words_survives_the_round_trip():
    text = "the capital of france is paris ."
    assert load_tokenizer().decode(load_tokenizer().encode(text)) == text


def test_an_unknown_word_becomes_unk_and_nothing_else_changes():
    words = load_tokenizer().decode(load_tokenizer().encode("the zyzzyva of france")).split()
    assert words == ["the", UNK, "of", "france"]


def test_capitals_hyphens_and_marks_are_split_as_in_training():
    assert split("New-Delhi, South Korea's 3.5 <unk>!") == ["new-delhi", ",", "south", "korea's", "3.5", "<unk>", "!"]


def test_a_prompt_begins_with_the_token_that_opens_every_row():
    assert load_tokenizer().decode(load_tokenizer().prompt("france")) == f"{BOS} france"
    assert load_tokenizer().number[BOS] == 0 and load_tokenizer().number[UNK] == 1


def test_no_word_is_listed_twice():
    assert len(set(load_tokenizer().words)) == len(load_tokenizer())
