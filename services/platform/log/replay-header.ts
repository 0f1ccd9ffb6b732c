import type { Headers } from './log.ts'

/**
 * Where a replayed message stood first: the place of its first record. Its inputs keep the version of that place, so that a replay
 * never wins over what its submitter has sent since.
 */
export type ReplayOrigin = { readonly generation: number; readonly offset: number; readonly position: number }

const name = 'replay'

/** Write an origin as message headers. */
export const toReplayHeader = ({ generation, offset, position }: ReplayOrigin): Headers => ({
  [name]: `${generation}.${offset}.${position}`,
})

/** Read the origin of a replayed message; null for a message that stands where it was written first. Throws a RangeError for a malformed one. */
export const fromReplayHeader = (headers: Headers): ReplayOrigin | null => {
  const text = headers[name]
  if (text === undefined) return null
  const [, generation, offset, position] = /^(\d{1,4})\.(\d{1,12})\.(\d{1,5})$/.exec(text) ?? []
  if (generation === undefined) throw new RangeError('the replay header is malformed')
  return { generation: Number(generation), offset: Number(offset), position: Number(position) }
}
