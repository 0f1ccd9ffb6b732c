import { Failure } from '../../failure.ts'
import { groupCommit } from '../lmdb/group-commit.ts'
import type { OffsetCommit } from './kafka-assignment.ts'

/**
 * Commit places of lanes by `send`; those that come while a request is under way share the next one. A lane that is lost by the time of the
 * request is left out: the brokers would take its place from any member of the group, and it may be another reader's by then. `of` names
 * what is read. The promise rejects with `lane_lost`.
 */
export const offsetCommitter = (
  of: string,
  send: (offsetCommits: readonly OffsetCommit[]) => Promise<void>,
): ((offsetCommit: OffsetCommit) => Promise<void>) => {
  const commitFailure = (cause?: unknown): Failure =>
    new Failure('lane_lost', `the place in ${of} was not committed`, { retriable: false, cause })
  const commits = groupCommit(async (requested: readonly OffsetCommit[]): Promise<readonly (undefined | Error)[]> => {
    const uncommitted = new Set(requested.filter(offsetCommit => !offsetCommit.lost.aborted))
    try {
      if (uncommitted.size > 0) await send([...uncommitted])
    } catch (cause) {
      throw commitFailure(cause)
    }
    return requested.map(offsetCommit => (uncommitted.has(offsetCommit) ? undefined : commitFailure()))
  }, 10_000)
  return async offsetCommit => void (await commits.submit(offsetCommit))
}
