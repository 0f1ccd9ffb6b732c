import type { Headers } from './log.ts'

/**
 * Original place of a replayed message: that of its first record. Its records keep the version of that place, so that a
 * replay never replaces data that the customer has submitted since.
 */
export type ReplayOrigin = { readonly generation: number; readonly offset: number; readonly position: number }

const name = 'replay'

/** Write the origin of a replay as message headers. */
export const toReplayHeader = ({ generation, offset, position }: ReplayOrigin): Headers => ({
  [name]: `${generation}.${offset}.${position}`,
})

/**
 * Read the origin of a replayed message; null if the message is not a replay. Throws a RangeError for a malformed
 * header.
 */
export const fromReplayHeader = (headers: Headers): ReplayOrigin | null => {
  const text = headers[name]
  if (text === undefined) return null
  const [, generation, offset, position] = /^(\d{1,4})\.(\d{1,12})\.(\d{1,5})$/.exec(text) ?? []
  if (generation === undefined) throw new RangeError('The replay header is malformed.')
  return { generation: Number(generation), offset: Number(offset), position: Number(position) }
}
