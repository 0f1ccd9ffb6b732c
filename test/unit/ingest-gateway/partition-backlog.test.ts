import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { partitionBacklog } from '../../../services/ingest-gateway/partition-backlog.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { type Assignment, type Log, recordTopic } from '../../../services/platform/log/log.ts'
import type { SlowBacklogSource } from '../../../services/platform/role-module.ts'

const folder = mkdtempSync(join(tmpdir(), 'wattledger-pressure-'))
let log: Log
let now = 0

/** Partitions with a worker that commits on request. */
const open = async (backlog?: SlowBacklogSource) => {
  now = 1_000_000
  const path = mkdtempSync(join(folder, 'log-'))
  log = await openLmdbLog({
    folder: path,
    now: () => now,
    topics: { [recordTopic]: { partitions: 2, capacityBytes: 10_000, retentionMs: 60_000 } },
  })
  const assignments: Assignment[] = []
  await log.subscribe(recordTopic, 'cost-worker', assignment => void assignments.push(assignment))
  const backlogOf = partitionBacklog(log, backlog)
  return {
    append: (assignment: number) =>
      log.append(recordTopic, assignment, { key: 'k', value: Buffer.alloc(900), headers: {} }),
    commit: (assignment: number, next: number) =>
      assignments.find(({ partition }) => partition === assignment)?.commit(next),
    /** Accepted modes some seconds later, by partition: live mode and test mode. */
    later: async (seconds: number) => {
      now += seconds * 1000
      await backlogOf.refresh(now)
      return [0, 1].map(assignment => [
        backlogOf.accepts(assignment, true, 'a'),
        backlogOf.accepts(assignment, false, 'a'),
      ])
    },
    accepts: backlogOf.accepts,
  }
}

afterEach(() => log.close())
afterAll(() => rmSync(folder, { recursive: true }))

const [all, liveAlone, none] = [
  [true, true],
  [true, false],
  [false, false],
]

describe('a lane', () => {
  it('accepts all records before its first read; an unknown partition accepts none', async () => {
    const { accepts } = await open()
    expect([accepts(0, true, 'a'), accepts(0, false, 'a'), accepts(2, true, 'a')]).toEqual([true, true, false])
  })

  it('accepts only live mode while its worker commits but is more than 30 s late', async () => {
    const { append, commit, later } = await open()
    await Promise.all([0, 0, 0, 1].map(append))
    expect(await later(0)).toEqual([all, all])
    await commit(1, 1)
    await commit(0, 1)
    expect(await later(20)).toEqual([all, all])
    await commit(0, 2)
    expect(await later(20)).toEqual([liveAlone, all])
    await commit(0, 3)
    expect(await later(1)).toEqual([all, all])
  })

  it('takes test mode too while it waits for slow work alone, and its worker reads on', async () => {
    let readUpTo: number | null = null
    const { append, commit, later } = await open({
      isLogFull: () => false,
      readUpTo: assignment => (assignment === 0 ? readUpTo : null),
    })
    await Promise.all([0, 0, 0, 1].map(append))
    await later(0)
    await commit(0, 1)
    await commit(1, 1)
    await later(20)
    readUpTo = 3
    expect(await later(20)).toEqual([all, all])
    await append(0)
    await commit(0, 2)
    await later(1)
    // The worker has not read the later messages during two reads.
    expect(await later(1)).toEqual([liveAlone, all])
    readUpTo = 4
    expect(await later(1)).toEqual([all, all])
  })

  it('takes nothing of an account of which much slow work waits, and all of others', async () => {
    const { accepts } = await open({ isLogFull: accountId => accountId === 'a', readUpTo: () => null })
    expect([accepts(0, true, 'a'), accepts(0, false, 'a'), accepts(0, true, 'b'), accepts(0, false, 'b')]).toEqual([
      false,
      false,
      true,
      true,
    ])
  })

  it('accepts all records while its worker is stopped', async () => {
    const { append, commit, later } = await open()
    await Promise.all([0, 0].map(append))
    await commit(0, 1)
    expect(await later(1)).toEqual([all, all])
    for (let seconds = 0; seconds < 100; seconds += 5) expect(await later(5)).toEqual([all, all])
  })

  it('takes nothing once unread messages fill a half of it, and all again when they are read', async () => {
    const { append, commit, later } = await open()
    for (let count = 0; count < 5; count += 1) {
      expect((await later(0))[1]).toEqual(all)
      await append(1)
    }
    await append(1)
    expect(await later(0)).toEqual([all, none])
    await commit(1, 3)
    expect(await later(0)).toEqual([all, all])
  })

  it('stays as it was seen while the log does not answer', async () => {
    const { append, later } = await open()
    for (let count = 0; count < 6; count += 1) await append(1)
    const seen = [all, none]
    expect(await later(0)).toEqual(seen)
    await log.close()
    expect(await later(1)).toEqual(seen)
  })
})
