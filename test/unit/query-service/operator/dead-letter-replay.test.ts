import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventTopic, recordTopic } from '../../../../services/platform/log/log.ts'
import type { DeadLetter } from '../../../../services/platform/log/messages.ts'
import { partitionKey, partitionOf } from '../../../../services/platform/log/partition.ts'
import { fromReplayHeader, toReplayHeader } from '../../../../services/platform/log/replay-header.ts'
import { replayOf } from '../../../../services/query-service/operator/dead-letters.ts'
import { hexId } from '../../../suites/cost-rows.ts'

const letter = (given: Partial<DeadLetter> = {}): DeadLetter => ({
  topic: recordTopic,
  partition: 5,
  offset: 1_000,
  position: -1,
  timestamp: 1,
  key: partitionKey(hexId('acc_', 1), hexId('loc_', 1)),
  headers: { generation: '2', chunk: 'c1', batches: 'unchanged' },
  value: Buffer.from([0, 1, 2]),
  code: 'undecodable',
  reason: 'a reason',
  failedAt: 2,
  ...given,
})
const target = { generation: 2, partitions: 8 }

const messageOf = (given: Partial<DeadLetter>, now = target) => {
  const replay = replayOf(letter(given), now)
  if (!replay.ok) throw new Error(replay.reason)
  return replay
}

describe('the replay header', () => {
  it('keeps the first offset of a message unchanged', () => {
    const origin = fc.record({
      generation: fc.nat(1_023),
      offset: fc.integer({ min: 0, max: 2 ** 38 - 1 }),
      position: fc.nat(65_535),
    })
    fc.assert(fc.property(origin, place => void expect(fromReplayHeader(toReplayHeader(place))).toEqual(place)))
  })

  it('is absent from a message that was not replayed, and is refused if malformed', () => {
    expect(fromReplayHeader({ generation: '1' })).toBeNull()
    for (const replay of ['', '1.2', '1.2.3.4', '-1.2.3', '1.2.x'])
      expect(() => fromReplayHeader({ replay })).toThrow(RangeError)
  })
})

describe('a replay', () => {
  it('contains the same bytes, key and headers, and the first offset of the message', () => {
    const { partition: lane, message } = messageOf({})
    expect(lane).toBe(5)
    expect(message).toMatchObject({ key: letter().key, value: letter().value, headers: letter().headers })
    expect(fromReplayHeader(message.headers)).toEqual({ generation: 2, offset: 1_000, position: 0 })
  })

  it('of a single record goes to the partition of its location and keeps its position', () => {
    const { partition: lane, message } = messageOf({ position: 17, partition: 0 })
    expect(lane).toBe(partitionOf(letter().key, 8))
    expect(fromReplayHeader(message.headers)).toEqual({ generation: 2, offset: 1_000, position: 17 })
  })

  it('keeps the first offset after each further dead-lettering', () => {
    const whole = messageOf({ headers: messageOf({}).message.headers, offset: 2_000 })
    expect(fromReplayHeader(whole.message.headers)).toEqual({ generation: 2, offset: 1_000, position: 0 })
    const single = messageOf({ headers: whole.message.headers, offset: 3_000, position: 4 })
    expect(fromReplayHeader(single.message.headers)).toEqual({ generation: 2, offset: 1_000, position: 4 })
    const again = messageOf({ headers: single.message.headers, offset: 4_000 })
    expect(fromReplayHeader(again.message.headers)).toEqual({ generation: 2, offset: 1_000, position: 4 })
  })

  it('carries the current generation and the offset of its own; an old whole message is refused', () => {
    const now = { generation: 3, partitions: 12 }
    const { partition: lane, message } = messageOf({ position: 1 }, now)
    expect([lane, message.headers['generation']]).toEqual([partitionOf(letter().key, 12), '3'])
    expect(fromReplayHeader(message.headers)).toEqual({ generation: 2, offset: 1_000, position: 1 })
    expect(replayOf(letter(), now)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('number of partitions has changed'),
    })
  })

  it('of a foreign message gets the required headers; a message of another topic is refused', () => {
    expect(messageOf({ headers: { from: 'elsewhere' } }).message.headers).toMatchObject({
      generation: '2',
      chunk: 'replay-5-1000',
    })
    expect(replayOf(letter({ topic: eventTopic }), target).ok).toBe(false)
    expect(replayOf(letter({ headers: { replay: 'x' } }), target).ok).toBe(false)
  })
})
