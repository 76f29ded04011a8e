; What JavaScript and TypeScript share. Definitions come first, so that a name's later bind is skipped.
(function_declaration name: (identifier) @name) @def.fn
(generator_function_declaration name: (identifier) @name) @def.fn
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @def.fn
(variable_declarator name: (identifier) @name value: (class)) @def.class
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression)]) @def.fn
(assignment_expression left: (member_expression) @_whole right: (function_expression name: (identifier) @name) (#eq? @_whole "module.exports")) @def.fn
(variable_declarator name: (identifier) @name value: (object)) @def.const
(variable_declarator value: (object (pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @def.fn))
(variable_declarator value: (object (method_definition name: (property_identifier) @name) @def.fn))
(assignment_expression right: (object (pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @def.fn))
(assignment_expression right: (object (method_definition name: (property_identifier) @name) @def.fn))
(export_statement value: (object (method_definition name: (property_identifier) @name) @def.fn))
(class_body (method_definition name: (_) @name) @def.fn)
(class_body (method_definition "get" @getter))

; Nameless functions are scopes of their own.
(arrow_function) @block
(function_expression) @block
(arrow_function parameter: (identifier) @name @param)
(catch_clause parameter: (identifier) @name @bind)

; Names that get a value.
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name @bind))
(variable_declarator name: (object_pattern (pair_pattern value: (identifier) @name) @bind))
(variable_declarator name: (array_pattern (identifier) @name @bind))
(assignment_expression left: (identifier) @name right: (_) @value) @bind
(assignment_expression left: (member_expression object: (this)) @name right: (_) @value) @bind
(assignment_expression left: (member_expression) @name right: (assignment_expression left: (member_expression) @value)) @bind.member
(for_in_statement left: (identifier) @name right: (_) @value) @bind.item

; Imports and exports.
(import_statement (import_clause (identifier) @alias) source: (string (string_fragment) @module)) @import.default
(import_statement (import_clause (named_imports (import_specifier name: (_) @name alias: (_)? @alias))) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string (string_fragment) @module)) @import
(import_statement . source: (string (string_fragment) @module)) @import.bare
(variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))) (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name) value: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))) (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern (pair_pattern key: (property_identifier) @name value: (identifier) @alias)) value: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))) (#eq? @_require "require")) @import
(variable_declarator name: (identifier) @alias value: (member_expression object: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))) property: (property_identifier) @name) (#eq? @_require "require")) @import
(export_statement "*" source: (string (string_fragment) @module)) @export.all
(export_statement (namespace_export (identifier) @alias) source: (string (string_fragment) @module)) @export.from
(export_statement (export_clause (export_specifier name: (_) @name alias: (_)? @alias)) source: (string (string_fragment) @module)) @export.from
(export_statement (export_clause (export_specifier name: (_) @name alias: (_)? @alias)) !source) @export.as
(export_statement "default" value: (_) @value) @export.default
(export_statement "default" declaration: (_ name: (_) @value)) @export.default
(export_statement declaration: (_ name: (_) @export))
(export_statement declaration: (_ (variable_declarator name: (_) @export)))
(assignment_expression left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports) right: [(identifier) (member_expression) (call_expression) (new_expression)] @value (#eq? @_module "module") (#eq? @_exports "exports")) @export.whole
(assignment_expression left: (member_expression) @_exports right: (function_expression name: (identifier) @value) (#eq? @_exports "module.exports")) @export.whole
(assignment_expression left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports) right: (object (shorthand_property_identifier) @name) (#eq? @_module "module") (#eq? @_exports "exports")) @export.as
(assignment_expression left: (member_expression object: (identifier) @_exports property: (property_identifier) @alias) right: (identifier) @name (#eq? @_exports "exports")) @export.as
(assignment_expression left: (member_expression object: (member_expression) @_exports property: (property_identifier) @alias) right: (identifier) @name (#eq? @_exports "module.exports")) @export.as

; Uses.
(call_expression function: (_) @call)
(new_expression constructor: (_) @call)
(return_statement (_) @return)
(arrow_function body: [(call_expression) (identifier) (member_expression) (new_expression) (await_expression)] @return)
(arguments [(identifier) (member_expression)] @ref)
(pair value: [(identifier) (member_expression)] @ref)
(object (shorthand_property_identifier) @ref)
(spread_element (identifier) @ref)
(array [(identifier) (member_expression)] @ref)
(return_statement [(identifier) (member_expression)] @ref)
(assignment_expression right: [(identifier) (member_expression)] @ref)
(variable_declarator value: [(identifier) (member_expression)] @ref)
(binary_expression [(identifier) (member_expression)] @ref)
(ternary_expression [(identifier) (member_expression)] @ref)
(template_substitution [(identifier) (member_expression)] @ref)
(assignment_pattern right: [(identifier) (member_expression)] @ref)
(subscript_expression object: (identifier) @ref)
(decorator [(identifier) (call_expression) (member_expression)] @decorator)

(comment) @comment
(throw_statement (new_expression arguments: (arguments . [(string) (template_string)] @_text)) (#match? @_text "[Nn]ot (yet )?implemented")) @stub
