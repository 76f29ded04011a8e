(function_definition name: (word) @name) @def.fn
(program (variable_assignment name: (variable_name) @name) @bind)
(program (declaration_command (variable_assignment name: (variable_name) @name) @bind))
(command name: (command_name (word) @_source) . argument: (_) @module (#any-of? @_source "source" ".")) @import.path
(command name: (command_name (word) @call))
(command name: (command_name (word) @_trap) . argument: (word) @call (#eq? @_trap "trap"))
(comment) @comment
