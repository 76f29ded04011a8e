"""The languages: one row each, and how a file's language is told from its name or first line.

Adding a language is a row here, a capture file in `queries/` and a test folder. Knows no tree-sitter
object: a row names the grammar's module and the node types its expressions are made of. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

Step = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language.

    `steps` say how an expression node is read: node type to (step, field of the inner expression,
    field of the member's name); the step is `.`, `()`, `[]`, `|` or "" for a node to look through.
    `literals` maps node types to the built-in type a literal has, `leaves` are names. `public` tells
    what a file exports: `underscore`, `marked` (the capture file marks it), `capital` or `all`.
    """

    name: str
    grammar: str
    extensions: tuple[str, ...]
    captures: tuple[str, ...]
    function: str = "language"
    interpreters: tuple[str, ...] = ()
    self_names: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset({"identifier"})
    steps: Mapping[str, Step] = field(default_factory=dict)
    literals: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    public: str = "all"
    doc_comments: bool = True


_PYTHON: Final = Language(
    name="python",
    grammar="tree_sitter_python",
    extensions=("py", "pyi", "pyw"),
    captures=("python.scm",),
    interpreters=("python", "pypy"),
    self_names=frozenset({"self", "cls"}),
    steps={
        "attribute": (".", "object", "attribute"),
        "call": ("()", "function", ""),
        "subscript": ("[]", "value", ""),
        "await": ("", "", ""),
        "parenthesized_expression": ("", "", ""),
        "named_expression": ("", "value", ""),
        "boolean_operator": ("|", "left", "right"),
        "conditional_expression": ("|", "", ""),
    },
    literals={
        "string": "str",
        "concatenated_string": "str",
        "integer": "int",
        "float": "float",
        "list": "list",
        "dictionary": "dict",
        "set": "set",
        "tuple": "tuple",
        "list_comprehension": "list",
        "dictionary_comprehension": "dict",
        "set_comprehension": "set",
        "generator_expression": "generator",
        "none": "None",
        "true": "bool",
        "false": "bool",
        "not_operator": "bool",
        "comparison_operator": "bool",
    },
    words={"None": "None", "True": "bool", "False": "bool"},
    public="underscore",
    doc_comments=False,
)

_ECMA_STEPS: Final[Mapping[str, Step]] = {
    "member_expression": (".", "object", "property"),
    "call_expression": ("()", "function", ""),
    "new_expression": ("()", "constructor", ""),
    "subscript_expression": ("[]", "object", ""),
    "await_expression": ("", "", ""),
    "parenthesized_expression": ("", "", ""),
    "non_null_expression": ("", "", ""),
    "as_expression": ("", "", ""),
    "satisfies_expression": ("", "", ""),
    "instantiation_expression": ("", "", ""),
    "binary_expression": ("|", "left", "right"),
    "ternary_expression": ("|", "consequence", "alternative"),
}
_ECMA_LITERALS: Final = {
    "string": "str", "template_string": "str", "number": "int", "array": "list", "object": "dict",
    "null": "None", "undefined": "None", "true": "bool", "false": "bool", "regex": "regex",
    "unary_expression": "bool",
}  # fmt: skip
_ECMA_LEAVES: Final = frozenset(
    {"identifier", "this", "super", "property_identifier", "type_identifier", "shorthand_property_identifier"}
)
_WORDS: Final = {"null": "None", "undefined": "None", "true": "bool", "false": "bool", "nil": "None"}

_JAVASCRIPT: Final = Language(
    name="javascript",
    grammar="tree_sitter_javascript",
    extensions=("js", "mjs", "cjs", "jsx"),
    captures=("ecma.scm", "javascript.scm", "jsx.scm"),
    interpreters=("node",),
    self_names=frozenset({"this"}),
    leaves=_ECMA_LEAVES,
    steps=_ECMA_STEPS,
    literals=_ECMA_LITERALS,
    words=_WORDS,
    public="marked",
)
_TYPESCRIPT: Final = replace(
    _JAVASCRIPT,
    name="typescript",
    grammar="tree_sitter_typescript",
    function="language_typescript",
    extensions=("ts", "mts", "cts"),
    captures=("ecma.scm", "typescript.scm"),
    interpreters=("deno", "bun", "tsx"),
)
_TSX: Final = replace(
    _TYPESCRIPT,
    name="tsx",
    function="language_tsx",
    extensions=("tsx",),
    captures=("ecma.scm", "typescript.scm", "jsx.scm"),
    interpreters=(),
)
_RUST: Final = Language(
    name="rust",
    grammar="tree_sitter_rust",
    extensions=("rs",),
    captures=("rust.scm",),
    self_names=frozenset({"self"}),
    leaves=frozenset({"identifier", "self", "crate", "super", "type_identifier", "field_identifier"}),
    steps={
        "field_expression": (".", "value", "field"),
        "scoped_identifier": (".", "path", "name"),
        "scoped_type_identifier": (".", "path", "name"),
        "generic_function": ("", "function", ""),
        "generic_type": ("", "type", ""),
        "bracketed_type": ("", "", ""),
        "call_expression": ("()", "function", ""),
        "struct_expression": ("()", "name", ""),
        "index_expression": ("[]", "", ""),
        "await_expression": ("", "", ""),
        "try_expression": ("", "", ""),
        "parenthesized_expression": ("", "", ""),
        "reference_expression": ("", "value", ""),
        "unary_expression": ("", "", ""),
        "type_cast_expression": ("", "type", ""),
    },
    literals={
        "string_literal": "str", "integer_literal": "int", "float_literal": "float",
        "boolean_literal": "bool", "char_literal": "str", "array_expression": "list",
        "tuple_expression": "tuple", "unit_expression": "None",
    },
    words=_WORDS,
    public="marked",
)  # fmt: skip
_GO: Final = Language(
    name="go",
    grammar="tree_sitter_go",
    extensions=("go",),
    captures=("go.scm",),
    leaves=frozenset({"identifier", "type_identifier", "package_identifier", "field_identifier"}),
    steps={
        "selector_expression": (".", "operand", "field"),
        "qualified_type": (".", "package", "name"),
        "call_expression": ("()", "function", ""),
        "composite_literal": ("()", "type", ""),
        "index_expression": ("[]", "operand", ""),
        "unary_expression": ("", "operand", ""),
        "parenthesized_expression": ("", "", ""),
        "type_assertion_expression": ("()", "type", ""),
        "generic_type": ("", "type", ""),
        "type_instantiation_expression": ("", "type", ""),
        "pointer_type": ("", "", ""),
    },
    literals={
        "interpreted_string_literal": "str", "raw_string_literal": "str", "int_literal": "int",
        "float_literal": "float", "nil": "None", "true": "bool", "false": "bool",
    },
    words=_WORDS,
    public="capital",
)  # fmt: skip
_JAVA: Final = Language(
    name="java",
    grammar="tree_sitter_java",
    extensions=("java",),
    captures=("java.scm",),
    self_names=frozenset({"this"}),
    leaves=frozenset({"identifier", "type_identifier", "this", "super"}),
    steps={
        "field_access": (".", "object", "field"),
        "method_invocation": (".()", "object", "name"),
        "object_creation_expression": ("()", "type", ""),
        "array_access": ("[]", "array", ""),
        "parenthesized_expression": ("", "", ""),
        "cast_expression": ("()", "type", ""),
        "generic_type": ("", "", ""),
        "scoped_type_identifier": ("", "", ""),
        "ternary_expression": ("|", "consequence", "alternative"),
    },
    literals={
        "string_literal": "str", "decimal_integer_literal": "int", "null_literal": "None",
        "true": "bool", "false": "bool", "character_literal": "str", "class_literal": "type",
    },
    words=_WORDS,
)  # fmt: skip
_C: Final = Language(
    name="c",
    grammar="tree_sitter_c",
    extensions=("c", "h"),
    captures=("c.scm",),
    leaves=frozenset({"identifier", "type_identifier", "field_identifier"}),
    steps={
        "field_expression": (".", "argument", "field"),
        "call_expression": ("()", "function", ""),
        "subscript_expression": ("[]", "argument", ""),
        "pointer_expression": ("", "argument", ""),
        "parenthesized_expression": ("", "", ""),
        "cast_expression": ("()", "type", ""),
        "type_descriptor": ("", "type", ""),
        "conditional_expression": ("|", "consequence", "alternative"),
    },
    literals={
        "string_literal": "str", "number_literal": "int", "char_literal": "str", "null": "None",
        "true": "bool", "false": "bool", "initializer_list": "list",
    },
    words={"NULL": "None", "nullptr": "None", "true": "bool", "false": "bool"},
)  # fmt: skip
_CPP: Final = replace(
    _C,
    name="cpp",
    grammar="tree_sitter_cpp",
    extensions=("cpp", "cc", "cxx", "hpp", "hh", "hxx", "ipp", "inl", "c++", "h++"),
    captures=("c.scm", "cpp.scm"),
    self_names=frozenset({"this"}),
    leaves=frozenset({"identifier", "type_identifier", "field_identifier", "namespace_identifier", "this"}),
    steps={
        **_C.steps,
        "qualified_identifier": (".", "scope", "name"),
        "template_function": ("", "name", ""),
        "template_method": ("", "name", ""),
        "template_type": ("", "name", ""),
        "new_expression": ("()", "type", ""),
        "compound_literal_expression": ("()", "type", ""),
    },
)
_CSHARP: Final = Language(
    name="csharp",
    grammar="tree_sitter_c_sharp",
    extensions=("cs",),
    captures=("csharp.scm",),
    self_names=frozenset({"this"}),
    leaves=frozenset({"identifier", "this", "base"}),
    steps={
        "member_access_expression": (".", "expression", "name"),
        "conditional_access_expression": ("?.", "condition", ""),
        "qualified_name": (".", "qualifier", "name"),
        "generic_name": ("", "", ""),
        "invocation_expression": ("()", "function", ""),
        "object_creation_expression": ("()", "type", ""),
        "element_access_expression": ("[]", "expression", ""),
        "await_expression": ("", "", ""),
        "parenthesized_expression": ("", "", ""),
        "cast_expression": ("()", "type", ""),
        "as_expression": ("()", "right", ""),
        "equals_value_clause": ("", "", ""),
        "binary_expression": ("|", "left", "right"),
        "conditional_expression": ("|", "consequence", "alternative"),
    },
    literals={
        "string_literal": "str", "integer_literal": "int", "null_literal": "None",
        "boolean_literal": "bool", "real_literal": "float", "interpolated_string_expression": "str",
    },
    words=_WORDS,
)  # fmt: skip
_RUBY: Final = Language(
    name="ruby",
    grammar="tree_sitter_ruby",
    extensions=("rb", "rake", "gemspec"),
    captures=("ruby.scm",),
    interpreters=("ruby",),
    self_names=frozenset({"self"}),
    leaves=frozenset(
        {"identifier", "constant", "self", "super", "instance_variable", "class_variable"}
    ),
    steps={
        "call": (".()", "receiver", "method"),
        "scope_resolution": (".", "scope", "name"),
        "element_reference": ("[]", "object", ""),
        "parenthesized_statements": ("", "", ""),
        "binary": ("|", "left", "right"),
        "conditional": ("|", "consequence", "alternative"),
    },
    literals={
        "string": "str", "integer": "int", "float": "float", "array": "list", "hash": "dict",
        "nil": "None", "true": "bool", "false": "bool", "simple_symbol": "symbol", "regex": "regex",
    },
    words=_WORDS,
)  # fmt: skip
_PHP: Final = Language(
    name="php",
    grammar="tree_sitter_php",
    function="language_php",
    extensions=("php", "phtml"),
    captures=("php.scm",),
    interpreters=("php",),
    self_names=frozenset({"$this"}),
    leaves=frozenset({"name", "variable_name", "qualified_name", "relative_scope"}),
    steps={
        "member_access_expression": (".", "object", "name"),
        "nullsafe_member_access_expression": (".", "object", "name"),
        "scoped_property_access_expression": (".", "scope", "name"),
        "class_constant_access_expression": ("::", "", ""),
        "member_call_expression": (".()", "object", "name"),
        "nullsafe_member_call_expression": (".()", "object", "name"),
        "scoped_call_expression": (".()", "scope", "name"),
        "function_call_expression": ("()", "function", ""),
        "object_creation_expression": ("()", "", ""),
        "subscript_expression": ("[]", "", ""),
        "parenthesized_expression": ("", "", ""),
        "clone_expression": ("", "", ""),
        "binary_expression": ("|", "left", "right"),
    },
    literals={
        "string": "str", "encapsed_string": "str", "integer": "int", "null": "None",
        "boolean": "bool", "array_creation_expression": "list", "float": "float",
    },
    words=_WORDS,
)  # fmt: skip
_BASH: Final = Language(
    name="bash",
    grammar="tree_sitter_bash",
    extensions=("sh", "bash"),
    captures=("bash.scm",),
    interpreters=("bash", "sh", "dash", "zsh", "ksh"),
    leaves=frozenset({"word", "variable_name"}),
)

_ROWS: Final = (
    _PYTHON, _RUST, _JAVASCRIPT, _TYPESCRIPT, _TSX, _GO, _JAVA, _C, _CPP, _CSHARP, _RUBY, _PHP, _BASH,
)  # fmt: skip
LANGUAGES: Final[Mapping[str, Language]] = {row.name: row for row in _ROWS}

_BY_EXTENSION: Final = {ext: row.name for row in LANGUAGES.values() for ext in row.extensions}
_DOCUMENTS: Final = {"md": "markdown", "markdown": "markdown", "mdx": "markdown", "rst": "rst"}
PROSE_LANGUAGES: Final = frozenset(_DOCUMENTS.values())
_SHEBANG: Final = re.compile(rb"#!\s*(?:\S*/)?([A-Za-z]+)[\d.]*(?:\s+(?:-\S+\s+)*([A-Za-z]+))?")


def suffix_of(path: str) -> str:
    """What follows the last dot of a file's name, "" where the name has none or begins with it."""
    name = path[path.rfind("/") + 1 :]
    at = name.rfind(".")
    return name[at + 1 :] if 0 < at < len(name) - 1 else ""


def language_of(path: str, sample: bytes) -> str | None:
    """The language of a file, from its name, else from a `#!` in the first bytes; None if unknown.

    A header `.h` is `c` here: the caller, who sees the whole tree, makes it `cpp` where that holds C++.
    """
    suffix = suffix_of(path)
    if suffix == "H":
        return "cpp" if "cpp" in LANGUAGES else None
    found = _BY_EXTENSION.get(suffix.lower()) or _DOCUMENTS.get(suffix.lower())
    if found is not None or suffix:
        return found
    match = _SHEBANG.match(sample)
    if match is None:
        return None
    name = (match[2] if match[1] == b"env" and match[2] else match[1]).decode()
    return next((row.name for row in LANGUAGES.values() if name in row.interpreters), None)
