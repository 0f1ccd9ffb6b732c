import { beforeAll, describe, expect, it } from 'vitest'
import { toHeaders } from '../../../../services/platform/log/chunk-headers.ts'
import { recordTopic } from '../../../../services/platform/log/log.ts'
import { partitionKey, partitionOf } from '../../../../services/platform/log/partition.ts'
import { fromReplayHeader } from '../../../../services/platform/log/replay-header.ts'
import { rowVersionOf } from '../../../../services/platform/log/row-version.ts'
import { operatorKey } from '../../../support/http/http-access.ts'
import {
  appendChunk,
  baseUrl,
  clickHouse,
  createMissingLocation,
  type DeadLetter,
  encodeChunk,
  listDeadLetters,
  log,
  missingLocationId,
  recordAt,
  runDeadLetters,
  runJson,
  storedRow,
  tenant,
  useDeadLetters,
} from '../../../support/partitions/dead-letter-fixture.ts'
import { until } from '../../../support/system/until.ts'

useDeadLetters()

beforeAll(async () => {
  await appendChunk(
    encodeChunk(recordAt(missingLocationId, 1), recordAt(missingLocationId, 2)),
    toHeaders({ generation: 3, chunkId: 'laid', batches: [] }),
  )
  await appendChunk(Buffer.from('poison'), { from: 'elsewhere' })
  await until(
    () => listDeadLetters(),
    letters => letters.length === 3,
  )
})

describe('a dead letter', () => {
  it('is listed newest first, by page, code and time', async () => {
    const letters = await listDeadLetters()
    expect(letters.map(({ code, position }) => [code, position]).toSorted()).toEqual([
      ['location_unknown', 0],
      ['location_unknown', 1],
      ['undecodable', null],
    ])
    expect((await listDeadLetters('--limit', '2')).map(({ id }) => id)).toEqual(letters.slice(0, 2).map(({ id }) => id))
    expect((await listDeadLetters('--code', 'undecodable')).map(({ code }) => code)).toEqual(['undecodable'])
    expect(await listDeadLetters('--since', '2100-01-01T00:00:00Z')).toEqual([])
    expect(await listDeadLetters('--since', '1h')).toHaveLength(3)
    const { out } = await runDeadLetters('dead-letters', 'list', '--limit', '1', '--base-url', baseUrl)
    expect(out).toContain('More dead letters exist')
    expect(await runDeadLetters('dead-letters', 'list', '--since', 'yesterday', '--base-url', baseUrl)).toMatchObject({
      code: 2,
    })
  })

  it('is on exactly one page while new dead letters are added', async () => {
    const seen: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const before: string = next === '' ? '' : `&before=${next}`
      const response = await fetch(`${baseUrl}/operator/dead-letters?limit=1${before}`, {
        headers: { 'X-Operator-Key': operatorKey },
      })
      const page = (await response.json()) as { readonly data: readonly DeadLetter[]; readonly next: string | null }
      seen.push(...page.data.map(({ id }) => id))
      if (seen.length === 1) {
        await appendChunk(Buffer.from('more poison'), {})
        await until(
          () => listDeadLetters(),
          letters => letters.length === 4,
        )
      }
      next = page.next
    }
    expect(seen).toHaveLength(3)
    expect(new Set(seen).size).toBe(3)
  })

  it('is returned with its bytes, its headers and its decoded content', async () => {
    const [known] = await listDeadLetters('--code', 'location_unknown')
    expect(await runJson('show', known?.id ?? '')).toMatchObject({
      headers: { chunk: 'laid', generation: '3' },
      content: { kind: 'records', parts: [{ records: [{ locationId: missingLocationId, energy: '2000000000' }] }] },
      content_error: null,
    })
    const poison = (await listDeadLetters('--code', 'undecodable')).at(-1)
    expect(await runJson('show', poison?.id ?? '')).toMatchObject({
      value_base64: btoa('poison'),
      headers: { from: 'elsewhere' },
      content: null,
    })
    const { out } = await runDeadLetters('dead-letters', 'show', poison?.id ?? '', '--base-url', baseUrl)
    expect(out).toContain(Buffer.from('poison').toString('hex'))
    expect(await runDeadLetters('dead-letters', 'show', '0-999', '--base-url', baseUrl)).toMatchObject({
      code: 1,
      err: expect.stringContaining('not_found'),
    })
  })

  it('is visible to the operator only, not to any key of an account', async () => {
    const statusOf = async (headers: Readonly<Record<string, string>>) =>
      (await fetch(`${baseUrl}/operator/dead-letters`, { headers })).status
    expect(await statusOf({})).toBe(401)
    expect(await statusOf({ Authorization: 'Bearer token' })).toBe(403)
    expect(await statusOf({ 'X-Operator-Key': 'wrong' })).toBe(401)
    expect(await statusOf({ 'X-Operator-Key': operatorKey })).toBe(200)
  })

  it('is stored once by any number of replays after its cause is gone', async () => {
    const [two, one] = await listDeadLetters('--code', 'location_unknown')
    expect(await runDeadLetters('dead-letters', 'replay', '--base-url', baseUrl)).toMatchObject({ code: 2 })
    await createMissingLocation()
    expect(await storedRow(1)).toBeNull()
    expect(await runJson('replay', one?.id ?? '', two?.id ?? '')).toMatchObject({ replayed: 2 })
    await until(
      () => Promise.all([storedRow(1), storedRow(2)]),
      rows => rows.every(row => row !== null),
    )
    const { messages } = await log.peek(recordTopic, one?.lane ?? 0, 0, { maxMessages: 100, maxBytes: 10_000_000 })
    const origins = messages.map(({ headers }) => fromReplayHeader(headers)).filter(origin => origin !== null)
    expect(origins.map(({ generation, offset }) => [generation, offset])).toEqual([
      [3, 0],
      [3, 0],
    ])
    expect(origins.map(({ position }) => position).toSorted()).toEqual([0, 1])
    expect(
      await runDeadLetters('dead-letters', 'replay', '--all', '--code', 'location_unknown', '--base-url', baseUrl),
    ).toMatchObject({
      code: 0,
      out: 'Replayed 2 of 2 dead letters.\n',
    })
    const partition = one?.lane ?? 0
    await until(
      () => log.lag(recordTopic, partition, 'cost-worker'),
      ({ committed, end }) => committed === end,
    )
    expect(
      await clickHouse.rows('SELECT toUInt32(count()), toUInt32(uniqExact(record_id)) FROM meter_cost FINAL'),
    ).toEqual([[2, 2]])
    expect(await listDeadLetters('--code', 'location_unknown')).toHaveLength(2)
  })

  it('keeps its first version, so that a record that was sent again since wins', async () => {
    expect(await storedRow(1)).toMatchObject({ sourceVersion: rowVersionOf(3, 0, 0), energy: 2_000_000_000n })
    expect(await storedRow(2)).toMatchObject({ sourceVersion: rowVersionOf(3, 0, 1) })
    const headers = toHeaders({ generation: 3, chunkId: 'sent again', batches: [] })
    const sentAgain = await appendChunk(
      encodeChunk({ ...recordAt(missingLocationId, 1), energy: 7_000_000_000n }),
      headers,
    )
    await until(
      () => storedRow(1),
      row => row?.energy === 7_000_000_000n,
    )
    await runDeadLetters('dead-letters', 'replay', '--all', '--code', 'location_unknown', '--base-url', baseUrl)
    const partition = partitionOf(partitionKey(tenant.accountId, missingLocationId), log.partitions(recordTopic))
    await until(
      () => log.lag(recordTopic, partition, 'cost-worker'),
      ({ committed, end }) => committed === end && end > sentAgain + 1,
    )
    expect(await storedRow(1)).toMatchObject({ sourceVersion: rowVersionOf(3, sentAgain, 0), energy: 7_000_000_000n })
  })

  it('is dead-lettered again if its cause remains; an unknown id is reported', async () => {
    const before = await listDeadLetters('--code', 'undecodable')
    const replayed = await runDeadLetters(
      'dead-letters',
      'replay',
      before[0]?.id ?? '',
      '7-12345',
      '--base-url',
      baseUrl,
    )
    expect([replayed.code, replayed.out]).toEqual([
      1,
      expect.stringMatching(/7-12345 {2}not replayed: .*\nReplayed 1 of 2 dead letters/),
    ])
    await until(
      () => listDeadLetters('--code', 'undecodable'),
      letters => letters.length === before.length + 1,
    )
  })

  it('is reported as unavailable if the service does not answer', async () => {
    const { code, err } = await runDeadLetters('dead-letters', 'list', '--base-url', 'http://127.0.0.1:9')
    expect([code, err]).toEqual([1, expect.stringContaining('Start the service')])
  })
})
