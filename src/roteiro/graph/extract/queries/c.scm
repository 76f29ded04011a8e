; Shared by C and C++ (which adds cpp.scm).
(function_definition type: (_) @returns declarator: (function_declarator declarator: (_) @name)) @def.fn
(function_definition type: (_) @returns declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @def.fn
(function_definition type: (_) @returns declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))) @def.fn
(struct_specifier name: (type_identifier) @name body: (_)) @def.struct
(union_specifier name: (type_identifier) @name body: (_)) @def.struct
(enum_specifier name: (type_identifier) @name body: (_)) @def.enum
(type_definition type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))] declarator: (type_identifier) @name) @def.struct
(type_definition type: (enum_specifier !name body: (_)) declarator: (type_identifier) @name) @def.enum
(type_definition type: [(struct_specifier name: (_) @alias) (type_identifier) @alias] declarator: (type_identifier) @name) @bind.alias
(enumerator name: (identifier) @name) @bind
(preproc_function_def name: (identifier) @name) @def.fn
(preproc_def name: (identifier) @name value: (_)) @def.const
(function_definition (storage_class_specifier) @_storage declarator: (_ declarator: (identifier) @private) (#eq? @_storage "static"))
(declaration (storage_class_specifier) @_storage declarator: (_ declarator: (identifier) @private) (#eq? @_storage "static"))

(declaration type: (_) declarator: (function_declarator declarator: (identifier) @prototype))
(declaration type: (_) declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @prototype)))
(parameter_declaration type: (_) @type declarator: (identifier) @name) @param
(parameter_declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @name)) @param
(parameter_declaration type: (_) @type declarator: (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))) @param
(parameter_declaration type: (_) @type declarator: (array_declarator declarator: (identifier) @name)) @param
(field_declaration type: (_) @type declarator: (field_identifier) @name) @bind
(field_declaration type: (_) @type declarator: (pointer_declarator declarator: (field_identifier) @name)) @bind
(declaration type: (_) @type declarator: (identifier) @name) @bind
(declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @name)) @bind
(declaration type: (_) @type declarator: (array_declarator declarator: (identifier) @name)) @bind
(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @name value: (_) @value)) @bind
(declaration type: (_) @type declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @name) value: (_) @value)) @bind
(declaration type: (_) @type declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @bind

(preproc_include path: (string_literal (string_content) @module)) @import.path
(preproc_include path: (system_lib_string) @module) @import.path

(call_expression function: (_) @call)
(return_statement (_) @return)
(argument_list [(identifier) (field_expression)] @ref)
(argument_list (pointer_expression argument: (identifier) @ref))
(init_declarator value: (identifier) @ref)
(init_declarator value: (pointer_expression argument: (identifier) @ref))
(initializer_list (identifier) @ref)
(initializer_pair value: (identifier) @ref)
(assignment_expression right: (identifier) @ref)
(return_statement (identifier) @ref)
(binary_expression (identifier) @ref)
(case_statement value: (identifier) @ref)
(_ type: (type_identifier) @type.use)
(struct_specifier name: (type_identifier) @type.use !body)
(comment) @comment
