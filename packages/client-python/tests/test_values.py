import collections.abc
import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import pathlib
import unittest
import uuid

from waymark._values import MAX_VALUE_BYTES, describe, json_object_of, json_of, text_of


def read(value):
    return json.loads(json_of(value))


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Order:
    id: int
    made: datetime.date


class Model:
    def model_dump(self):
        return {"role": "user", "at": datetime.date(2026, 1, 31)}


class Endless(collections.abc.Mapping):
    def __getitem__(self, key):
        return key

    def __iter__(self):
        return itertools.count()

    def __len__(self):
        return 1


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


class ValuesTest(unittest.TestCase):
    def test_json_stays_as_it_is(self):
        for value in [None, True, 1, -0.5, "ä€😀\0", [1, [2]], {"a": {"b": None}}, 12345678901234567890123]:
            self.assertEqual(read(value), value)
        self.assertEqual(json_of({"a": "ä"}), '{"a":"ä"}'.encode())

    def test_values_without_json_become_text(self):
        self.assertEqual(read([float("nan"), float("inf"), -float("inf")]), ["NaN", "Infinity", "-Infinity"])
        self.assertEqual(read({"a": b"text", "b": b"\xff\x00"}), {"a": "text", "b": "base64:/wA="})
        when = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)
        self.assertEqual(read([when, when.date(), when.time()]), [when.isoformat(), "2026-01-31", "12:00:00"])
        unique = uuid.UUID(int=7)
        self.assertEqual(read([unique, decimal.Decimal("1.10")]), [str(unique), "1.10"])
        self.assertEqual(read([pathlib.PurePosixPath("/a"), Colour.RED]), ["/a", "red"])
        self.assertEqual(read(Order(7, datetime.date(2026, 1, 31))), {"id": 7, "made": "2026-01-31"})
        self.assertEqual(read([Model(), {1}]), [{"role": "user", "at": "2026-01-31"}, [1]])
        self.assertEqual(read({(1, 2): 1, None: Hostile()}), {"(1, 2)": 1, "null": "[Hostile without a text]"})
        self.assertEqual(read(Hostile()), "[Hostile without a text]")
        self.assertRegex(read(object()), "^<object object")

    def test_exceptions_keep_class_message_stack_and_causes(self):
        def fail():
            try:
                raise KeyError("card")
            except KeyError as cause:
                raise ValueError("no refund") from cause

        with self.assertRaises(ValueError) as caught:
            fail()
        error = caught.exception
        told = read({"error": error})["error"]
        self.assertEqual([told["name"], told["message"], told["cause"]["name"]], ["ValueError", "no refund", "KeyError"])
        self.assertIn("in fail", told["stack"])
        self.assertEqual(describe(error), "ValueError: no refund\nCaused by: KeyError: 'card'")
        error.__cause__ = error
        self.assertEqual(describe(error), "ValueError: no refund")

    def test_circles_and_depth_end(self):
        circle = {"name": "a"}
        circle["self"] = [circle]
        self.assertEqual(read(circle), {"name": "a", "self": ["[circular]"]})
        deep = 1
        for _ in range(5_000):
            deep = [deep]
        text = json_of(deep)
        self.assertLess(text.count(b"["), 110)
        self.assertIn(b"[too deep]", text)
        wide = [{"a": [index]} for index in range(1_000)]
        self.assertEqual(read(wide), wide)
        self.assertEqual(read({"a": '[[[{"' * 100}), {"a": '[[[{"' * 100})

    def test_lone_surrogates_become_u_fffd(self):
        self.assertEqual(read({"a\ud800": "x\udfffy", "b": "\ud83d\ude00"}), {"a\ufffd": "x\ufffdy", "b": "😀"})

    def test_size_is_bounded(self):
        for value in ["x" * 3_000_000, '"' * 3_000_000, ["ä\\" * 1_000] * 3_000, {"a": bytes(3_000_000)}, 10**4_000]:
            data = json_of(value)
            self.assertLessEqual(len(data), MAX_VALUE_BYTES)
            json.loads(data)
            if value != 10**4_000:
                self.assertIn(b"[cut", data)
        document = read({"question": "why?", "document": "z" * 2_000_000, "after": 1})
        self.assertEqual(document["question"], "why?")
        self.assertTrue(document["document"].endswith("z… [cut: 2000000 characters in all]"))
        self.assertLessEqual(len(json_of(Endless())), MAX_VALUE_BYTES)
        self.assertEqual(set(json.loads(json_object_of(["x"]))), {"value"})

    def test_texts_fit_the_service(self):
        self.assertEqual(text_of("a\0b\ud800", 10), "a\ufffdb\ufffd")
        self.assertEqual(text_of("😀😀", 3), "😀\ufffd")
        self.assertEqual(len(text_of("x" * 2_000, 1_000)), 1_000)
        self.assertEqual([text_of(5, 9), text_of(Hostile(), 90)], ["5", "[Hostile without a text]"])
        self.assertEqual([describe(KeyError()), describe("text")], ["KeyError", "text"])


if __name__ == "__main__":
    unittest.main()
