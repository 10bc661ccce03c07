"""From facts to what people see: pages that are whole in themselves, safe with any text.

============  ====================================================================
``listing``   a function's text beside what it was rewritten to, as plain data
``code``      a listing as HTML, its lines linked both ways
``flow``      the control flow of a program: its data, and its picture
``page``      the page around, and its frame in a notebook
``entries``   an entry of the catalogue of error codes, on a terminal
============  ====================================================================

Knows no Paddle.  Every text that comes from elsewhere goes through ``page.escaped``.
"""
