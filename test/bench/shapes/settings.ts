/** Common designs of metering pipelines. The texts describe the way from a submission to its rows. */
export const shapes = {
  'look-up writer': {
    gateway: 'one message per record, and an answer before the broker has the message',
    writer:
      '500 rows or 2 s: one look-up per record for price and duplicate, insert, save the keys of the records, commit',
    table: 'MergeTree',
  },
  'timed writer': {
    gateway: 'one message per submission, and an answer after the broker has the message',
    writer:
      'rows buffered in memory and their offset committed immediately; 1,000 rows or 1 s: async insert, 3 attempts',
    table: 'ReplacingMergeTree, read with FINAL',
  },
  'second topic': {
    gateway: 'one message per record, and an answer before the broker has the message',
    writer:
      'each record sent to a second topic and awaited, partitions in parallel; then 10,000 rows or 1 s: insert, commit',
    table: 'ReplacingMergeTree, read with FINAL',
  },
} as const

export type ShapeName = keyof typeof shapes
export const shapeNames = Object.keys(shapes) as readonly ShapeName[]

/** Settings of the processes of a shape. */
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

/** Record of a submission. */
export type SentRecord = {
  readonly location_id: string
  readonly device_id: string
  readonly value: number
  readonly start_time: string
  readonly end_time: string
}
