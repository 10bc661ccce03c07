"""A notebook that is executed: what its cells show of converted functions."""

from __future__ import annotations

CELLS = (
    "import paddle, d2s",
    """
@d2s.to_static
def halve(x):
    while x.abs().max() > 1:
        x = x * 0.5
    print("<b>", x.sum())
    return x
halve
""",
    "halve(paddle.to_tensor([3.0])); halve",
    "d2s.dump(halve)",
    "d2s.dump(halve, program=True)",
    "d2s.explain(halve, paddle.ones([4]))",
    "d2s.report(halve, paddle.ones([4]))",
    "halve({})",
)


def test_cells_show_pages() -> None:
    """Functions of cells are converted; what is shown is a page beside its plain text."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(book, timeout=300, kernel_name="python3", allow_errors=True).execute()
    shown = []
    for cell in book.cells:
        shown.append({})
        for output in cell.outputs:
            if output.output_type == "execute_result":
                shown[-1] = dict(output.data)
            elif output.output_type == "error":
                shown[-1] = {"error": "\n".join(output.traceback), "name": output.ename}
    _, fresh, called, dumped, program, explained, reported, wrong = shown
    for found in (fresh, called, dumped, program, explained, reported):
        assert found["text/html"].startswith("<iframe srcdoc=")
        assert "<b>" not in found["text/html"]
    assert "halve (" in fresh["text/plain"]
    assert fresh["text/plain"].endswith("0 programs>")
    assert called["text/plain"].endswith("1 program>")
    assert "first call" in called["text/html"]
    assert "while_loop" in explained["text/html"]
    assert "agrees with dygraph" in reported["text/html"]
    assert "pd_op.while" in program["text/html"]
    assert "x.abs()" in wrong["error"]
    assert "d2s/program" not in wrong["error"]
