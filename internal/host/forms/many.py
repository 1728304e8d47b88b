# TEXT N ARGUMENTS, again and again: runs each text by itself and prints
# "EXIT BYTES BYTES", its stdout and its stderr. A text that hangs takes the rest
# with it.
import io, sys, traceback
from contextlib import redirect_stderr, redirect_stdout
rest = sys.argv[1:]
while rest:
    text, n = rest[0], int(rest[1])
    sys.argv, rest = ["-c"] + rest[2:2 + n], rest[2 + n:]
    out, said, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(said):
        try:
            exec(text, {"__name__": "__main__"})
        except SystemExit as e:
            if e.code:
                code = 1
                print(e.code, file=sys.stderr)
        except Exception:
            code = 1
            traceback.print_exc()
    out, said = (s.getvalue().encode("utf-8", "surrogateescape") for s in (out, said))
    sys.stdout.buffer.write(b"%d %d %d\n" % (code, len(out), len(said)) + out + said)
    sys.stdout.buffer.flush()
