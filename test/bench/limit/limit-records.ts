import avro from 'avsc'

/** Record of a submission, as the load sends it. */
export type SentRecord = {
  readonly location_id: string
  readonly device_id: string
  readonly energy_flow_direction: string
  readonly value: number
  readonly start_time: string
  readonly end_time: string
}

/** Record in the log. Times are in ms, energy is in 1e-6 Wh. */
type LoggedRecord = {
  readonly location: string
  readonly device: string
  readonly direction: string
  readonly start: number
  readonly end: number
  readonly energy: number
}

const chunkType = avro.Type.forSchema({
  type: 'array',
  items: {
    type: 'record',
    name: 'Logged',
    fields: [
      { name: 'location', type: 'string' },
      { name: 'device', type: 'string' },
      { name: 'direction', type: 'string' },
      { name: 'start', type: 'long' },
      { name: 'end', type: 'long' },
      { name: 'energy', type: 'long' },
    ],
  },
})

/** Encode the records of a submission as one Avro array. */
export const encodeChunk = (sent: readonly SentRecord[]): Buffer =>
  chunkType.toBuffer(
    sent.map(record => ({
      location: record.location_id,
      device: record.device_id,
      direction: record.energy_flow_direction,
      start: Date.parse(record.start_time),
      end: Date.parse(record.end_time),
      energy: Math.round(record.value * 1e6),
    })),
  )

/** Statement that creates the table. It has ten columns and the same order of rows as the product. */
export const createTable = `CREATE TABLE IF NOT EXISTS limit_cost
(
    account LowCardinality(String), location String, device String, direction LowCardinality(String),
    start DateTime64(3, 'UTC'), end DateTime64(3, 'UTC'),
    energy Decimal(18, 6), price Decimal(18, 9), cost Decimal(38, 9), version UInt64
)
ENGINE = ReplacingMergeTree(version) PARTITION BY toYYYYMM(start) ORDER BY (account, location, start, device)`

const account = 'acc_000000000000000000000001'
/** Price per kWh, in 1e-9 major units. */
const price = 250_000_000n

/** Rows in the Native format, and their number. */
export type Rows = { readonly bytes: Buffer; readonly count: number }

const lengthOf = (length: number): Buffer => {
  const bytes: number[] = []
  for (let rest = length; ; rest >>>= 7) {
    bytes.push(rest < 128 ? rest : (rest & 127) | 128)
    if (rest < 128) return Buffer.from(bytes)
  }
}

const textOf = (text: string): Buffer => Buffer.concat([lengthOf(text.length), Buffer.from(text, 'latin1')])

const textColumn = (name: string, texts: readonly string[]): Buffer => {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + 1 + text.length, 0))
  let at = 0
  for (const text of texts) {
    bytes[at] = text.length
    at += 1 + bytes.write(text, at + 1, 'latin1')
  }
  return Buffer.concat([textOf(name), textOf('String'), bytes])
}

/** Encode a column of whole numbers. Each has `words` times 8 bytes, and all words but the first are zero. */
const longColumn = (name: string, type: string, values: readonly bigint[], words = 1): Buffer => {
  const longs = new BigInt64Array(values.length * words)
  values.forEach((value, index) => {
    longs[index * words] = value
  })
  return Buffer.concat([textOf(name), textOf(type), Buffer.from(longs.buffer)])
}

const instantType = "DateTime64(3, 'UTC')"

/** Decode chunks, multiply the energy of each record by a price, and encode one row for each record. */
export const rowsOf = (chunks: readonly Buffer[], firstVersion: number): Rows => {
  const records = chunks.flatMap(chunk => chunkType.fromBuffer(chunk) as LoggedRecord[])
  const energies = records.map(({ energy }) => BigInt(energy))
  // 1e-6 Wh times 1e-9 per kWh is 1e-18 major units, and the column stores 1e-9.
  const costs = energies.map(energy => (energy * price) / 1_000_000_000n)
  const columns = [
    textColumn('account', new Array(records.length).fill(account)),
    textColumn(
      'location',
      records.map(({ location }) => location),
    ),
    textColumn(
      'device',
      records.map(({ device }) => device),
    ),
    textColumn(
      'direction',
      records.map(({ direction }) => direction),
    ),
    longColumn(
      'start',
      instantType,
      records.map(({ start }) => BigInt(start)),
    ),
    longColumn(
      'end',
      instantType,
      records.map(({ end }) => BigInt(end)),
    ),
    longColumn('energy', 'Decimal(18, 6)', energies),
    longColumn('price', 'Decimal(18, 9)', new Array(records.length).fill(price)),
    longColumn('cost', 'Decimal(38, 9)', costs, 2),
    longColumn(
      'version',
      'UInt64',
      records.map((_, index) => BigInt(firstVersion + index)),
    ),
  ]
  return {
    bytes: Buffer.concat([lengthOf(columns.length), lengthOf(records.length), ...columns]),
    count: records.length,
  }
}
