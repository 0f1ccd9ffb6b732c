"""Run the HTTP listener of ClickHouse. The library of chdb contains clickhouse-local, which opens the port of a server.

Arguments: the library, the settings file, the data folder. The program ends at the end of its standard input, and so
with the process that started it.
"""

import ctypes
import os
import sys
import threading

library_path, config, folder = sys.argv[1:4]
# The tables are in a database as a server creates it. The last statement runs until the program ends.
statements = """
CREATE DATABASE IF NOT EXISTS default ENGINE = Atomic;
SYSTEM START LISTEN HTTP;
SELECT sleepEachRow(3) FROM numbers(1000000000) SETTINGS max_block_size = 1 FORMAT Null
"""
options = [f"--config-file={config}", f"--path={folder}", f"--query={statements}"]
arguments = [b"clickhouse", *(option.encode() for option in options)]


def exit_at_end_of_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=exit_at_end_of_input, daemon=True).start()
library = ctypes.CDLL(library_path)
library.chdb_query_cmdline.restype = ctypes.c_void_p
library.chdb_query_cmdline.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
library.chdb_result_error.restype = ctypes.c_char_p
library.chdb_result_error.argtypes = [ctypes.c_void_p]
result = library.chdb_query_cmdline(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
error = library.chdb_result_error(result) if result else None
sys.stderr.write((error or b"The listener ended.").decode(errors="replace"))
sys.stderr.flush()
os._exit(1)
