/**
 * ClickHouse's Native format: blocks of columns. The values of a column are contiguous and little endian. The engine
 * itself works on this layout; it takes about half the engine's time of a row format.
 */
export type BlockWriter = { bytes: Buffer; view: DataView; at: number }
export type BlockReader = { readonly bytes: Buffer; readonly view: DataView; at: number }

/** Encoding of the values of a column. `read` throws a RangeError if the bytes end before the last value. */
export type NativeType<T> = {
  readonly type: string
  readonly write: (to: BlockWriter, values: readonly T[]) => void
  readonly read: (from: BlockReader, count: number) => T[]
}

/** A column of a table; `write` encodes its values of some rows, in steps if that takes long. */
export type BlockColumn<Row> = {
  readonly name: string
  readonly type: string
  readonly write: (to: BlockWriter, rows: readonly Row[]) => Generator<void, void> | void
}

/** Writes a value of `size` bytes per row, from index `at` on. */
export type Run<Row> = {
  readonly size: number
  readonly write: (rows: readonly Row[], view: DataView, at: number, bytes: Buffer) => void
}

/** A column whose values have a fixed size, so that the number of rows gives its size in the block. */
export type FixedColumn<Row> = Omit<BlockColumn<Row>, 'write'> & { readonly runs: readonly Run<Row>[] }

export const column = <Row, T>(name: string, nativeType: NativeType<T>, of: (row: Row) => T): BlockColumn<Row> => ({
  name,
  type: nativeType.type,
  write: (to, rows) => nativeType.write(to, rows.map(of)),
})

type RunOffset<Row> = { readonly run: Run<Row>; readonly from: number }

/** Rows whose values are written together: this many rows stay in the processor's cache for all columns. */
const rowsPerPass = 256

function* writeRuns<Row>(
  { bytes, view }: BlockWriter,
  rows: readonly Row[],
  runOffsets: readonly RunOffset<Row>[],
): Generator<void, void> {
  for (let first = 0; first < rows.length; first += rowsPerPass) {
    const some = rows.slice(first, first + rowsPerPass)
    for (const { run, from } of runOffsets) run.write(some, view, from + first * run.size, bytes)
    yield
  }
}

const reserveRuns = <Row>(
  to: BlockWriter,
  rows: readonly Row[],
  { runs }: FixedColumn<Row>,
): readonly RunOffset<Row>[] =>
  runs.map(run => {
    const from = to.at
    ensureCapacity(to, run.size * rows.length)
    to.at += run.size * rows.length
    return { run, from }
  })

type Columns<Row> = readonly (BlockColumn<Row> | FixedColumn<Row>)[]

/** Encode rows as one block, in steps. The rows must not change between the steps. */
export function* encodeBlockInSteps<Row>(columns: Columns<Row>, rows: readonly Row[]): Generator<void, Buffer> {
  const to = blockWriter(1_024 + rows.length * 256)
  writeLength(to, columns.length)
  writeLength(to, rows.length)
  const runOffsets: RunOffset<Row>[] = []
  for (const one of columns) {
    writeText(to, one.name)
    writeText(to, one.type)
    if ('runs' in one) runOffsets.push(...reserveRuns(to, rows, one))
    else {
      const writing = one.write(to, rows)
      if (writing !== undefined) yield* writing
      yield
    }
  }
  yield* writeRuns(to, rows, runOffsets)
  return to.bytes.subarray(0, to.at)
}

/** Rows per block if rows are encoded as many blocks. */
const rowsOfBlock = 512

/** Encode rows as consecutive blocks, one block per step: even one column takes long for many rows. */
export function* encodeBlocksInSteps<Row>(columns: Columns<Row>, rows: readonly Row[]): Generator<void, Buffer> {
  const blocks: Buffer[] = []
  for (let first = 0; first < rows.length; first += rowsOfBlock) {
    blocks.push(encodeBlock(columns, rows.slice(first, first + rowsOfBlock)))
    yield
  }
  return Buffer.concat(blocks)
}

/** Run a generator without a pause and return its value. Each `yield` marks a point where the work could pause. */
export const runToEnd = <T>(work: Generator<unknown, T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

/** Encode rows as one block without a pause. */
export const encodeBlock = <Row>(columns: Columns<Row>, rows: readonly Row[]): Buffer =>
  runToEnd(encodeBlockInSteps(columns, rows))

/** Decode consecutive blocks. `read` receives the number of rows and reads each column in order by `readColumn`. */
export const decodeBlocks = <Row>(bytes: Buffer, read: (from: BlockReader, count: number) => readonly Row[]): Row[] => {
  const from: BlockReader = { bytes, view: viewOf(bytes), at: 0 }
  const rows: Row[] = []
  while (from.at < bytes.length) {
    readLength(from)
    for (const row of read(from, readLength(from))) rows.push(row)
  }
  return rows
}

/** Decode consecutive blocks one by one, as `decodeBlocks`. Yields the rows of a block. */
export function* decodeEachBlock<Row>(
  bytes: Buffer,
  read: (from: BlockReader, count: number) => readonly Row[],
): Generator<readonly Row[]> {
  const from: BlockReader = { bytes, view: viewOf(bytes), at: 0 }
  while (from.at < bytes.length) {
    readLength(from)
    yield read(from, readLength(from))
  }
}

/** Read the next column of a block: skip its name and type, then read `count` values. */
export const readColumn = <T>(
  from: BlockReader,
  nativeType: { readonly read: (from: BlockReader, count: number) => T },
  count: number,
): T => {
  readText(from)
  readText(from)
  return nativeType.read(from, count)
}

/** Types of columns by name, in the order of the columns of a block. */
export type ColumnTypes = Readonly<Record<string, Pick<NativeType<unknown>, 'read'>>>

/** Values of columns by name: one array per column, with one value per row. */
export type ColumnValues<Types extends ColumnTypes> = {
  readonly [Name in keyof Types]: ReturnType<Types[Name]['read']>
}

/** Read the next columns of a block. Their order is that of `types`. */
export const readColumns = <Types extends ColumnTypes>(
  from: BlockReader,
  types: Types,
  count: number,
): ColumnValues<Types> => {
  const columns = Object.entries(types).map(([name, type]) => [name, readColumn(from, type, count)])
  return Object.fromEntries(columns) as ColumnValues<Types>
}

/** Return the value of a row in a column. The index must be that of a row. */
export const valueAt = <T>(values: readonly T[], row: number): T => values[row] as T

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Create a writer with `size` bytes; `ensureCapacity` enlarges it. */
export const blockWriter = (size: number): BlockWriter => {
  const bytes = Buffer.allocUnsafe(size)
  return { bytes, view: viewOf(bytes), at: 0 }
}

/** Enlarge the writer if fewer than `size` bytes are left. */
export const ensureCapacity = (to: BlockWriter, size: number): void => {
  if (to.at + size <= to.bytes.length) return
  const grown = Buffer.allocUnsafe((to.at + size) * 2)
  to.bytes.copy(grown, 0, 0, to.at)
  to.bytes = grown
  to.view = viewOf(grown)
}

/** Write bytes unchanged. */
export const writeBytes = (to: BlockWriter, bytes: Buffer): void => {
  ensureCapacity(to, bytes.length)
  bytes.copy(to.bytes, to.at)
  to.at += bytes.length
}

const writeLength = (to: BlockWriter, length: number): void => {
  ensureCapacity(to, 5)
  let rest = length
  for (; rest > 127; rest >>>= 7) to.bytes[to.at++] = (rest & 127) | 128
  to.bytes[to.at++] = rest
}

const readLength = (from: BlockReader): number => {
  let length = 0
  for (let shift = 0; ; shift += 7) {
    const byte = from.view.getUint8(from.at++)
    length |= (byte & 127) << shift
    if (byte < 128) return length
  }
}

export const writeText = (to: BlockWriter, text: string): void => {
  if (text === '') {
    ensureCapacity(to, 1)
    to.bytes[to.at++] = 0
    return
  }
  writeLength(to, Buffer.byteLength(text))
  ensureCapacity(to, 3 * text.length)
  to.at += to.bytes.write(text, to.at)
}

export const readText = (from: BlockReader): string => {
  const length = readLength(from)
  from.at += length
  return length === 0 ? '' : from.bytes.toString('utf8', from.at - length, from.at)
}
