// Threads of Node's pool. A statement of the embedded engine occupies one until it ends: one statement writes, three read,
// three more write and cancel files. Without a free thread, the log could not commit accepted records meanwhile. The
// variable must be set before the first use of the pool.
process.env.UV_THREADPOOL_SIZE ??= '8'
