import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideOnFailures,
  type PartitionOutcome,
  partitionOutcomes,
  slideWindow,
} from '../../../services/cost-worker/failing-share.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { hexId } from '../../suites/cost-rows.ts'

const step = (seen: readonly string[], ...failing: readonly string[]): PartitionOutcome => ({
  seen,
  failing: new Set(failing),
})
const locationIds = (count: number, prefix = 'l'): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`)
const half = { share: 0.5, minLocations: 3 }

describe('the share of failing locations', () => {
  it('stops a partition above the share, and returns the number of failing locations', () => {
    const window = [step(locationIds(7), ...locationIds(4))]
    expect(decideOnFailures(window, half)).toMatchObject({
      kind: 'stop',
      failing: 4,
      seen: 7,
      reason: expect.stringContaining('4 of the last 7'),
    })
    expect(decideOnFailures([step(locationIds(8), ...locationIds(4))], half)).toEqual({ kind: 'go on' })
  })

  it('continues if few locations fail, for any share', () => {
    expect(decideOnFailures([step(locationIds(2), ...locationIds(2))], half)).toEqual({ kind: 'go on' })
    expect(decideOnFailures([step(locationIds(3), ...locationIds(3))], half)).toMatchObject({ kind: 'stop' })
    expect(decideOnFailures([], { share: 0, minLocations: 0 })).toEqual({ kind: 'go on' })
  })

  it('counts a location once, with its last step', () => {
    const often = Array.from({ length: 50 }, () => step(['bad'], 'bad'))
    expect(decideOnFailures(often, half)).toEqual({ kind: 'go on' })
    const healed = [step(locationIds(4), ...locationIds(4)), step(['l0', 'l1'])]
    expect(decideOnFailures(healed, half)).toEqual({ kind: 'go on' })
    expect(decideOnFailures(healed.toReversed(), half)).toMatchObject({ kind: 'stop', failing: 4 })
  })

  it('ignores steps before the window', () => {
    let window = [step(locationIds(4), ...locationIds(4))] as readonly PartitionOutcome[]
    for (let i = 0; i < 3; i += 1) window = slideWindow(window, step([`later${i}`]), { steps: 3 })
    expect(window).toHaveLength(3)
    expect(decideOnFailures(window, half)).toEqual({ kind: 'go on' })
  })

  it('never stops at a share of 1, and never below the least number', () => {
    const outcome = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 20 }).chain(seen => {
      const ids = [...new Set(seen)].map(String)
      return fc.subarray(ids).map(failing => step(ids, ...failing))
    })
    fc.assert(
      fc.property(
        fc.array(outcome, { maxLength: 8 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(10),
        (window, share, least) => {
          expect(decideOnFailures(window, { share: 1, minLocations: least })).toEqual({ kind: 'go on' })
          const verdict = decideOnFailures(window, { share, minLocations: least })
          const last = new Map(window.flatMap(({ seen, failing }) => seen.map(id => [id, failing.has(id)] as const)))
          const failing = [...last.values()].filter(fails => fails).length
          expect(verdict.kind === 'stop').toBe(failing > 0 && failing >= least && failing > share * last.size)
        },
      ),
    )
  })
})

describe('the outcome of a step', () => {
  const [one, two, three] = [1, 2, 3].map(number => hexId('loc_', number)) as [string, string, string]
  const entry = (locationId: string, partition: number) => ({
    record: { locationId },
    origin: {
      assignment: { topic: recordTopic, partition },
      message: { offset: 0, timestamp: 0, key: '', headers: {}, value: Buffer.alloc(0) },
    },
  })
  const records = new Map([
    [one, [entry(one, 0), entry(one, 0)]],
    [two, [entry(two, 1)]],
  ])

  it('is separate for each partition; a location fails if none of its records is costed', () => {
    const met = partitionOutcomes(records, [{ entry: entry(one, 0) }, { entry: entry(two, 1) }], [])
    expect(met).toEqual(
      new Map([
        [0, step([one])],
        [1, step([two], two)],
      ]),
    )
    expect(
      partitionOutcomes(
        records,
        [one, one].map(id => ({ entry: entry(id, 0) })),
        [],
      ).get(0),
    ).toEqual(step([one], one))
  })

  it('counts unreadable chunks by the location of their key, and nothing that has none', () => {
    const chunk = { partition: 0, position: -1, key: `${hexId('acc_', 1)}/${three}` }
    const others = [
      { ...chunk, key: 'poison' },
      { ...chunk, key: hexId('bat_', 1) },
      { ...chunk, position: 4 },
    ]
    expect(partitionOutcomes(new Map(), [], [chunk, chunk, ...others])).toEqual(new Map([[0, step([three], three)]]))
    expect(partitionOutcomes(new Map(), [], others)).toEqual(new Map())
    expect(partitionOutcomes(records, [], [{ ...chunk, key: `${hexId('acc_', 1)}/${one}` }]).get(0)).toEqual(
      step([one]),
    )
  })
})
