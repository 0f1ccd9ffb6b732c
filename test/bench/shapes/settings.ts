/** The shapes in which metering is often built; the words say how each one goes from a submission to its rows. */
export const shapes = {
  'look-up writer': {
    gateway: 'one message a record, answers before the broker does',
    writer: '500 rows or 2 s, a look-up for each record (its price, was it seen), insert, note what was seen, commit',
    table: 'MergeTree',
  },
  'timed writer': {
    gateway: 'one message a submission, answers once the broker has it',
    writer: 'rows gathered in memory and their place committed at once; 1,000 rows or 1 s, async insert, 3 tries',
    table: 'ReplacingMergeTree, read with FINAL',
  },
  'second topic': {
    gateway: 'one message a record, answers before the broker does',
    writer:
      'a synchronous produce per record into a second topic, partitions side by side; then 10,000 rows or 1 s, insert, commit',
    table: 'ReplacingMergeTree, read with FINAL',
  },
} as const

export type ShapeName = keyof typeof shapes
export const shapeNames = Object.keys(shapes) as readonly ShapeName[]

/** What the processes of a shape are told. */
export type ShapeSettings = {
  readonly shape: ShapeName
  readonly brokers: readonly string[]
  readonly topic: string
  readonly secondTopic: string
  readonly group: string
  readonly engineUrl: string
  readonly postgresUrl: string
  readonly port: number
  readonly locations: readonly string[]
}

/** A record as it is submitted. */
export type SentRecord = {
  readonly location_id: string
  readonly device_id: string
  readonly value: number
  readonly start_time: string
  readonly end_time: string
}
