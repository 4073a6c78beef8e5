"""Does claims.py read what it says, and notice what is not met?"""

import json
import os
import unittest

import claims

HEAD = "// A program.\n// RECORDED: 2 10\n// COVERED: 2 1000\n// LEAVES: 3 10\n"


def program(text, head=HEAD):
    return claims.parse("dir/a.c", head + text)


def fact(line, thread, **more):
    return {"file": "/elsewhere/dir/a.c", "line": line, "function": "f", "thread": thread, **more}


def constant(line, thread, kind, value):
    return fact(line, thread, kind=kind, value=value, tainted=False)


def pair(first, second, disjoint, file="a.c"):
    sides = [{"file": file, "line": line, "function": "f", "thread": "t1", "access": "write"} for line in (first, second)]
    return {"first": sides[0], "second": sides[1], "disjoint": disjoint}


def facts(constants=(), branches=(), loops=(), accesses=()):
    return {"constants": constants, "branches": branches, "loops": loops, "accesses": accesses, "summary": {}}


class Reading(unittest.TestCase):
    def test_the_head_has_the_inputs(self):
        read = program("// FLAGS: -lm -DX=1\n// ORDERS: hb total\n// SPECIALIZE: --x HERE/y\n// RACY\nint x;\n")
        self.assertEqual(read.inputs(), [["2", "10"], ["2", "1000"], ["3", "10"]])
        self.assertEqual((read.flags, read.orders, read.is_racy), (["-lm", "-DX=1"], ["hb", "total"], True))
        self.assertEqual(read.specialize, ["--x", os.path.abspath("dir/y")])
        self.assertEqual(program("int x;", "").inputs(), [[]])

    def test_several_claims_stand_in_a_comment(self):
        read = program("x = y; // CONST t1 load 4; NOT CONST t12 any; TAKEN t0 false; TOTAL TRIPS t0 3; HB NOT TAKEN t1 -7\n")
        told = [(c.line, c.order, c.is_not, c.what, c.arguments) for c in read.claims]
        self.assertEqual(told[0], (5, "", False, "CONST", ["t1", "load", "4"]))
        self.assertEqual(told[1], (5, "", True, "CONST", ["t12", "any"]))
        self.assertEqual(told[2], (5, "", False, "TAKEN", ["t0", "false"]))
        self.assertEqual(told[3], (5, "total", False, "TRIPS", ["t0", "3"]))
        self.assertEqual(told[4], (5, "hb", True, "TAKEN", ["t1", "-7"]))

    def test_a_comment_of_its_own_is_about_the_next_code(self):
        text = "// CONST t1 load 4; LABEL here\n\n// Prose about it.\n  x = y; // TAKEN t1 2\n"
        read = program(text + "z; // DISJOINT here; DISJOINT self; DISJOINT 3\n")
        self.assertEqual([c.line for c in read.claims], [8, 8, 9, 9, 9])
        self.assertEqual([c.arguments for c in read.claims[2:]], [[8], [9], [3]])

    def test_prose_is_prose(self):
        self.assertEqual(program("int x; // a constant, taken twice; disjoint trips\n").claims, [])

    def test_what_means_nothing_is_an_error(self):
        for text in [
            "x; // CONST t1 load",
            "x; // CONST t1 laod 4",
            "x; // CONST 1 load 4",
            "x; // CONST t1 load 4 5",
            "x; // CONST t1 load four",
            "x; // CONST t1 load 4, CONST t2 load 4",
            "x; // CONST t1 load 4; and more",
            "x; // this is CONST",
            "x; // TAKEN t1",
            "x; // NOT CONST t1 load ?a",
            "x; // DISJOINT nowhere",
            "x; // NOT LABEL a",
            "x; // LABEL a\ny; // LABEL a",
            "x;\n// CONST t1 load 4",
            "// RECORDED: 5\nx;",
        ]:
            with self.assertRaises(claims.Unreadable, msg=text):
                program(text + "\n")
        with self.assertRaises(claims.Unreadable):
            program("x;\n", "// COVERED: 4\n")


class Matching(unittest.TestCase):
    def unmet(self, text, order="hb", **found):
        return claims.unmet(program(text, ""), facts(**found), order)

    def test_a_constant(self):
        text = "x; // CONST t1 load 4"
        self.assertEqual(self.unmet(text, constants=[constant(1, "t1", "load", "4")]), [])
        self.assertEqual(self.unmet(text, constants=[constant(1, "t1", "load", "5"), constant(1, "t1", "load", "4")]), [])
        for other in [(2, "t1", "load", "4"), (1, "t2", "load", "4"), (1, "t1", "call", "4"), (1, "t1", "load", "5")]:
            self.assertEqual(len(self.unmet(text, constants=[constant(*other)])), 1, other)
        elsewhere = {**constant(1, "t1", "load", "4"), "file": "b.c"}
        self.assertEqual(self.unmet(text, constants=[elsewhere]), ["dir/a.c:1: CONST t1 load 4: found nothing"])
        self.assertEqual(self.unmet("x; // CONST t1 any 4", constants=[constant(1, "t1", "phi", "4")]), [])

    def test_values_in_their_forms(self):
        same = [("true", "-1"), ("true", "1"), ("true", True), ("false", "0"), ("-5", -5)]
        same += [("&a", "&a+0"), ("&a+8", "&a+8"), ("null", "null")]
        other = [("true", "0"), ("false", "1"), ("&a", "&a+8"), ("&a", "&ab"), ("null", "0"), ("1", "-1")]
        for wanted, found in same + other:
            unmet = self.unmet(f"x; // CONST t1 any {wanted}", constants=[constant(1, "t1", "load", found)])
            self.assertEqual(len(unmet), (wanted, found) in other, (wanted, found))

    def test_no_constant(self):
        self.assertEqual(self.unmet("x; // NOT CONST t1 load", constants=[constant(1, "t1", "call", "4")]), [])
        self.assertEqual(self.unmet("x; // NOT CONST t1 load 4", constants=[constant(1, "t1", "load", "5")]), [])
        said = self.unmet("x; // NOT CONST t1 load", constants=[constant(1, "t1", "load", "5")])
        self.assertEqual(said, ["dir/a.c:1: NOT CONST t1 load: found 5"])
        self.assertEqual(len(self.unmet("x; // NOT CONST t1 load 4", constants=[constant(1, "t1", "load", "4")])), 1)

    def test_names_are_different_numbers(self):
        text = "x; // CONST t1 load ?a; CONST t2 load ?b\ny; // CONST t1 load ?a"
        found = lambda *values: [constant(line, thread, "load", value) for line, thread, value in values]
        self.assertEqual(self.unmet(text, constants=found((1, "t1", "1"), (1, "t2", "0"), (2, "t1", "1"))), [])
        several = found((1, "t1", "0"), (1, "t1", "1"), (1, "t2", "0"), (2, "t1", "1"))
        self.assertEqual(self.unmet(text, constants=several), [])
        self.assertTrue(self.unmet(text, constants=found((1, "t1", "0"), (1, "t2", "0"), (2, "t1", "0"))))
        self.assertTrue(self.unmet(text, constants=found((1, "t1", "0"), (1, "t2", "1"), (2, "t1", "2"))))
        self.assertTrue(self.unmet(text, constants=found((1, "t1", "0"), (2, "t1", "0"))))

    def test_branches_and_loops(self):
        text = "x; // TAKEN t1 true; NOT TAKEN t2; NOT TAKEN t3 false; TRIPS t0 2; NOT TRIPS t1"
        branches, loops = [fact(1, "t1", taken=True), fact(1, "t3", taken=True)], [fact(1, "t0", trips=2)]
        self.assertEqual(self.unmet(text, branches=branches, loops=loops), [])
        wrong = [fact(1, "t1", taken=False), fact(1, "t2", taken=3), fact(1, "t3", taken=False)]
        self.assertEqual(len(self.unmet(text, branches=wrong, loops=[fact(1, "t1", trips=2)])), 5)
        self.assertEqual(self.unmet("x; // TAKEN t1 3", branches=[fact(1, "t1", taken="3")]), [])

    def test_accesses(self):
        text = "x; // DISJOINT self; DISJOINT 2\ny; // NOT DISJOINT 1"
        self.assertEqual(self.unmet(text, accesses=[pair(1, 1, True)]), ["dir/a.c:2: NOT DISJOINT 1: no such pair"])
        self.assertEqual(len(self.unmet(text, accesses=[pair(1, 1, True), pair(2, 1, True)])), 1)
        self.assertEqual(len(self.unmet(text, accesses=[pair(1, 1, False), pair(2, 1, False), pair(1, 2, True)])), 2)
        self.assertEqual(len(self.unmet(text, accesses=[pair(1, 1, False, "b.c")])), 1)

    def test_orders(self):
        text = "x; // TOTAL CONST t1 load 4; HB NOT CONST t1 load"
        self.assertEqual(self.unmet(text), [])
        self.assertEqual(len(self.unmet(text, "total")), 1)
        self.assertEqual(len(self.unmet(text, constants=[constant(1, "t1", "load", "4")])), 1)
        self.assertEqual(self.unmet(text, "total", constants=[constant(1, "t1", "load", "4")]), [])


class Shapes(unittest.TestCase):
    def test_what_facts_must_have(self):
        good = facts([constant(1, "t1", "load", "4")], [fact(1, "t1", taken=True)], [fact(1, "t0", trips=2)], [pair(1, 2, True)])
        self.assertEqual(claims.check_shape(json.loads(json.dumps(good))), [])
        self.assertEqual(len(claims.check_shape({"constants": [], "branches": [], "loops": []})), 2)
        self.assertEqual(len(claims.check_shape(facts([constant(1, "t1", "lode", "4")]))), 1)
        self.assertEqual(len(claims.check_shape(facts(branches=[{"file": "a.c"}]))), 1)
        self.assertEqual(len(claims.check_shape(facts(accesses=[{"first": {}, "second": {}, "disjoint": True}]))), 1)

    def test_every_program_can_be_read(self):
        here = os.path.dirname(os.path.abspath(__file__))
        folders = [os.path.join(here, "Inputs", "data"), os.path.join(here, "..", "..", "examples", "kernels")]
        sources = [os.path.join(f, name) for f in folders if os.path.isdir(f) for name in os.listdir(f)]
        read = [claims.read(source) for source in sources if source.endswith((".c", ".cpp"))]
        self.assertGreater(len(read), 50)
        self.assertGreater(sum(len(one.claims) for one in read), 300)


if __name__ == "__main__":
    unittest.main()
