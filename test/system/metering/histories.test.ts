import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Comparison, comparePlays, compareRows } from '../../support/history/compare-plays.ts'
import { histories } from '../../support/history/generate-history.ts'
import type { History } from '../../support/history/history.ts'
import type { PlayContext } from '../../support/history/play.ts'
import { createDevices } from '../../support/history/register-rules.ts'
import { describeHistory } from '../../support/history/stored-state.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const count = Number(process.env['HISTORIES'] ?? 12)
const seed = Number(process.env['HISTORY_SEED'] ?? 14)
const path = process.env['HISTORY_PATH']
/** Number of histories that are played at a time. A failing history is reduced in parallel with the others. */
const players = Math.min(10, count)
/** A difference that does not change for this time remains. */
const quietMs = 30_000
/** A failed history is known to fail: its smaller forms need a shorter timeout, and are searched only for this time. */
const shrinkQuietMs = 4_000
const shrinkLimitMs = 90_000
const timeout = 60_000 + count * 5_000 + 2 * shrinkLimitMs

const system = useSharedSystem()
let stage: PlayContext
const compared: Comparison[] = []

beforeAll(async () => {
  const client = await system.login('live')
  stage = { client, accountId: system.sandbox().account_id, liveMode: true, deviceIds: await createDevices(client) }
})

/** `first`: faults before the history was reduced. */
type Failure = {
  readonly history: History
  readonly faults: readonly string[]
  readonly first: string
  readonly path: string
}

/** Play histories one after the other until one fails. Returns the smallest failing form that was found. */
const firstFailure = async (own: number, numRuns: number): Promise<Failure | null> => {
  let last: { history: History; faults: readonly string[] } | null = null
  let first = ''
  let failedAt = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(histories, async history => {
    if (performance.now() - failedAt > shrinkLimitMs) return true
    const comparison = await comparePlays(stage, history, last === null ? quietMs : shrinkQuietMs)
    if (comparison.faults.length === 0) {
      compared.push(comparison)
      return true
    }
    if (last === null) [failedAt, first] = [performance.now(), comparison.faults.slice(0, 3).join('\n')]
    last = { history, faults: comparison.faults }
    return false
  })
  const { failed, counterexamplePath, errorInstance } = await fc.check(property, {
    seed: own,
    numRuns,
    ...(path === undefined ? {} : { path }),
  })
  if (errorInstance !== undefined && errorInstance !== null && last === null) throw errorInstance
  return failed && last !== null
    ? { ...(last as Omit<Failure, 'path' | 'first'>), first, path: counterexamplePath ?? '' }
    : null
}

const describeFailure = ({ history, faults, first, path: found }: Failure, own: number): string =>
  `HISTORY_SEED=${seed}: seed ${own} path ${found}\n${describeHistory(history)}\n\n${faults.join('\n')}\n\nat first\n${first}`

describe(`${count} histories with the seed ${seed}`, () => {
  it('the same rows are stored for any order and division of the submissions', { timeout }, async () => {
    const found = await Promise.all(
      Array.from({ length: players }, async (_, index) => {
        const own = seed * 1000 + index
        const failure = await firstFailure(own, Math.ceil((count - index) / players))
        return failure === null ? [] : [describeFailure(failure, own)]
      }),
    )
    expect(found.flat().join('\n\n\n')).toBe('')
    expect(compared).toHaveLength(count)
  })

  it('and they do not change later', { timeout }, async () => {
    const faults: string[] = []
    const left = compared.values()
    const ask = async (): Promise<void> => {
      for (const { inOrder, shuffled } of left) faults.push(...(await compareRows(stage, inOrder, shuffled)))
    }
    await Promise.all(Array.from({ length: players }, ask))
    expect(faults).toEqual([])
  })
})
