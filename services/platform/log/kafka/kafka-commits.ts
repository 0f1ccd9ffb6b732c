import { Failure } from '../../failure.ts'
import { groupCommit } from '../group-commit.ts'
import type { Place } from './kafka-lane.ts'

/**
 * Commit places of lanes by `send`; those that come while a request is under way share the next one. A lane that is lost by the time of the
 * request is left out: the brokers would take its place from any member of the group, and it may be another reader's by then. `of` names
 * what is read. The promise rejects with `lane_lost`.
 */
export const laneCommits = (of: string, send: (places: readonly Place[]) => Promise<void>): ((place: Place) => Promise<void>) => {
  const lost = (cause?: unknown): Failure => new Failure('lane_lost', `the place in ${of} was not committed`, { retriable: false, cause })
  const commits = groupCommit(async (asked: readonly Place[]): Promise<readonly (undefined | Error)[]> => {
    const held = new Set(asked.filter(place => !place.lost.aborted))
    try {
      if (held.size > 0) await send([...held])
    } catch (cause) {
      throw lost(cause)
    }
    return asked.map(place => (held.has(place) ? undefined : lost()))
  }, 10_000)
  return async place => void (await commits.submit(place))
}
