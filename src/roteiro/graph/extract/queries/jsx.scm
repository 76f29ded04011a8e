; A component is called where it stands as an element; lower-case elements are the browser's.
(jsx_opening_element name: [(identifier) (member_expression)] @call (#match? @call "^[A-Z]|[.]"))
(jsx_self_closing_element name: [(identifier) (member_expression)] @call (#match? @call "^[A-Z]|[.]"))
(jsx_expression [(identifier) (member_expression)] @ref)
