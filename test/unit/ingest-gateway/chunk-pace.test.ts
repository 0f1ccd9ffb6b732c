import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { chunkPace } from '../../../services/ingest-gateway/chunk-writer.ts'
import { maxPartRecords } from '../../../services/record-bytes/record-part.ts'

/** Longer than a test can take: a wait of this length never ended. */
const ages = 60_000
const inTime = <T>(promise: Promise<T> | null): Promise<string> =>
  Promise.race([promise?.then(() => 'begun') ?? 'at once', sleep(100, 'waits')])

describe('the pace of chunks', () => {
  it('begins the first chunk at once, and every one where a log would not have them gather', () => {
    expect(chunkPace(ages).begin(() => 1)).toBe(null)
    const eager = chunkPace(0)
    for (let i = 0; i < 3; i += 1) expect(eager.begin(() => 1)).toBe(null)
  })

  it('lets the next one wait for the linger time of the log', async () => {
    const pace = chunkPace(40)
    void pace.begin(() => 1)
    const begunAt = performance.now()
    await pace.begin(() => 1)
    expect(performance.now() - begunAt).toBeGreaterThan(35)
    await sleep(60)
    expect(pace.begin(() => 1)).toBe(null)
  })

  it('begins a chunk that is full already at once', () => {
    const pace = chunkPace(ages)
    void pace.begin(() => 1)
    expect(pace.begin(() => maxPartRecords)).toBe(null)
  })

  it('begins one as soon as it is filled, and not one record before', async () => {
    const pace = chunkPace(ages)
    void pace.begin(() => 1)
    const next = pace.begin(() => maxPartRecords - 10)
    pace.noteArrived(4)
    pace.noteArrived(5)
    expect(await inTime(next)).toBe('waits')
    pace.noteArrived(1)
    expect(await inTime(next)).toBe('begun')
    expect(await inTime(pace.begin(() => 1))).toBe('waits')
  })
})
