/** Kinds of differences between the stored data and the expected data. */
export const differenceKinds = [
  'missing',
  'duplicate',
  'unexpected',
  'energy',
  'cost',
  'sum',
  'receipt',
  'answer',
  'deadLetter',
  'stop',
] as const

export type Difference = {
  readonly kind: (typeof differenceKinds)[number]
  /** Name of the record, month, receipt or answer. */
  readonly subject: string
  readonly expected: string
  readonly found: string
}

export type Verdict = {
  readonly expected: number
  readonly found: number
  /** Records without a price, and pieces of all other records. */
  readonly unpriced: number
  readonly pieces: number
  readonly months: number
  readonly receipts: number
  readonly differences: readonly Difference[]
}
