import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advance, type SessionInput } from '../../../../services/connect/domain/advance.ts'
import { type ConnectPageName, connectPageNames } from '../../../../services/connect/domain/page.ts'
import type { PageSubmission } from '../../../../services/connect/domain/page-submission.ts'
import {
  type ConnectConfig,
  type ConnectState,
  hasPrices,
  newConnectState,
} from '../../../../services/connect/domain/session.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { configs, inputs } from './page-inputs.ts'

/** The transitions of the reference, written down once more by hand: where the submit of a page may lead. */
const leadsTo: Readonly<Record<string, readonly ConnectPageName[]>> = {
  address: ['provider'],
  provider: ['login', 'library', 'structure'],
  provider_name: ['structure'],
  login: ['summary', 'pending', 'library', 'structure', 'login', 'provider'],
  library: ['summary'],
  structure: ['fixed', 'time_of_day', 'advanced', 'region', 'surcharge'],
  fixed: ['name', 'term', 'summary'],
  time_of_day: ['name', 'term', 'summary'],
  advanced: ['region', 'name', 'term', 'summary'],
  region: ['region', 'surcharge', 'name', 'term', 'summary'],
  surcharge: ['name', 'term', 'summary'],
  name: ['term', 'summary'],
  term: ['summary'],
}

/** Return the missing value without which a page cannot be shown or answered; null if there is none. */
const faultOf = (config: ConnectConfig, state: ConnectState): string | null => {
  const { page } = state
  if (page === null) return null
  if (new Set(state.trail).size !== state.trail.length) return 'a page appears twice on the way back'
  if (page !== 'address' && state.trail.includes(page)) return 'the page is on its own way back'
  if (state.trail.some(one => one === 'login' || one === 'end')) return 'the way back leads out of the flow'
  if (page === 'name' && !config.capturesName) return 'a name is asked for that is not captured'
  if (page === 'term' && !config.capturesTerm) return 'a term is asked for that is not captured'
  if (page === 'advanced' && !config.capturesAdvanced) return 'advanced prices are asked for that are not captured'
  if (['provider', 'provider_name'].includes(page) && !state.isPlaced) return 'a provider without a place'
  if (
    ['library', 'structure', 'fixed', 'time_of_day', 'advanced', 'region', 'surcharge', 'login'].includes(page) &&
    state.provider === null
  ) {
    return 'no provider is chosen'
  }
  if (page === 'summary' && !hasPrices(state)) return 'a summary of nothing'
  if (
    page === 'surcharge' &&
    config.layout === 'current' &&
    state.regions.length > 1 &&
    !state.hasMarketSource &&
    state.region === null
  ) {
    return 'a surcharge on an open region'
  }
  return null
}

/** Input sequences to a summary from four sources of prices, then any further inputs. */
const sequences: readonly (readonly SessionInput[])[] = [
  [{ kind: 'start', tariffStatus: 'connected' }],
  ...(
    [
      [{ page: 'library', tariffId: 'trt_1', name: 'Green' }],
      [
        { page: 'structure', structure: 'FIXED' },
        { page: 'fixed', cost: '0.3' },
      ],
      [{ page: 'login', outcome: 'connected' }],
    ] as const satisfies readonly (readonly PageSubmission[])[]
  ).map((sequence): readonly SessionInput[] =>
    [
      {
        page: 'address',
        address: { country_code: 'NO' },
        regions: ['NO1'],
        hasMarketSource: false,
        currencyCode: 'NOK',
      } as const,
      {
        page: 'provider',
        provider: {
          id: 'prv_1',
          displayName: 'Volt',
          logoUrl: null,
          loginUrl: 'https://l.example.com',
          hasLibrary: true,
        },
      } as const,
      ...sequence,
      { page: 'name', name: 'Mine' } as const,
      { page: 'term', term: null } as const,
    ].map(submission => ({ kind: 'submit', submission })),
  ),
]

const walkTo = (config: ConnectConfig, walk: readonly SessionInput[]): ConnectState =>
  walk.reduce((state, input) => {
    const move = advance(config, state, input)
    return move.ok ? move.value.state : state
  }, newConnectState)

describe('a session', () => {
  it('shows the same summary again after EDIT and BACK, and none whose prices were given up', () => {
    fc.assert(
      fc.property(
        configs,
        fc.constantFrom(...sequences),
        fc.array(inputs, { maxLength: 6 }),
        (config, sequence, walk) => {
          const at = walkTo({ ...config, edit: false }, sequence)
          expect(at.page).toBe('summary')
          const again = walkTo({ ...config, edit: false }, [
            ...sequence,
            { kind: 'action', action: 'EDIT', page: null },
            { kind: 'action', action: 'BACK', page: null },
          ])
          expect([again.page, hasPrices(again), again.source]).toEqual(['summary', true, at.source])
          const edited: readonly SessionInput[] = [...sequence, { kind: 'action', action: 'EDIT', page: null }, ...walk]
          expect(faultOf(config, walkTo({ ...config, edit: false }, edited))).toBeNull()
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('asks for no term of prices that were given up at a login', () => {
    const config: ConnectConfig = {
      layout: 'current',
      summaryName: 'tariffs_summary',
      direction: 'IMPORT',
      type: 'COMMODITY',
      disconnect: false,
      edit: false,
      capturesAdvanced: false,
      capturesName: true,
      capturesTerm: true,
    }
    for (const sequence of sequences) {
      const given: readonly SessionInput[] = [
        ...sequence,
        { kind: 'action', action: 'EDIT', page: null },
        { kind: 'submit', submission: { page: 'login', outcome: 'another' } },
        { kind: 'action', action: 'BACK', page: null },
        { kind: 'submit', submission: { page: 'term', term: null } },
      ]
      expect(faultOf(config, walkTo(config, given))).toBeNull()
    }
  })

  it('makes no illegal move in 10,000 random walks, with older pages, BACK and two tabs', () => {
    fc.assert(
      fc.property(configs, fc.array(inputs, { minLength: 1, maxLength: 30 }), (config, walk) => {
        let state: ConnectState = newConnectState
        const begun = advance(config, state, { kind: 'start', tariffStatus: 'none' })
        if (!begun.ok) throw new Error('a session begins')
        state = begun.value.state
        for (const input of walk) {
          const before = JSON.stringify(state)
          const move = advance(config, state, input)
          expect(JSON.stringify(state)).toBe(before)
          if (!move.ok) continue
          const after = move.value.state
          if (input.kind === 'submit')
            expect(leadsTo[input.submission.page], JSON.stringify({ input, state })).toContain(after.page)
          if (move.value.effect === 'leave') expect(after).toEqual(state)
          if (move.value.effect === 'save') expect(hasPrices(after)).toBe(true)
          expect(faultOf(config, after), JSON.stringify({ input, state, after, config })).toBeNull()
          state = after
        }
      }),
      { numRuns: 10_000 },
    )
  })

  it('is not led back to a page that it does not show, though a program has posted it', () => {
    const config: ConnectConfig = {
      layout: 'current',
      summaryName: 'tariffs_summary',
      direction: 'IMPORT',
      type: 'COMMODITY',
      disconnect: false,
      edit: false,
      capturesAdvanced: false,
      capturesName: false,
      capturesTerm: false,
    }
    const provider = { id: 'prv_1', displayName: 'Volt', logoUrl: null, loginUrl: null, hasLibrary: true }
    const posted: readonly PageSubmission[] = [
      { page: 'address', address: { country_code: 'NO' }, regions: [], hasMarketSource: false, currencyCode: 'NOK' },
      { page: 'provider', provider },
      { page: 'library', tariffId: 'trt_1', name: 'Green' },
      { page: 'name', name: null },
      { page: 'term', term: null },
    ]
    const inputs: readonly SessionInput[] = [
      { kind: 'start', tariffStatus: 'none' },
      ...posted.map(submission => ({ kind: 'submit', submission }) as const),
      { kind: 'action', action: 'BACK', page: null },
    ]
    const end = inputs.reduce((state, input) => {
      return acceptedValue(advance(config, state, input)).state
    }, newConnectState)
    expect([end.page, end.trail]).toEqual(['library', ['address', 'provider']])
  })

  it('leaves the flow with BACK alone, from every page', () => {
    fc.assert(
      fc.property(configs, fc.array(inputs, { maxLength: 30 }), (config, walk) => {
        let state: ConnectState = newConnectState
        for (const input of [{ kind: 'start', tariffStatus: 'none' } as const, ...walk]) {
          const move = advance(config, state, input)
          if (move.ok) state = move.value.state
        }
        for (let steps = 0; steps < connectPageNames.length + 1; steps += 1) {
          const back = advance(config, state, { kind: 'action', action: 'BACK', page: null })
          if (!back.ok) throw new Error('BACK is always taken')
          if (back.value.effect === 'leave') return
          state = back.value.state
        }
        throw new Error('BACK goes round in circles')
      }),
    )
  })

  it('reaches every page in both API versions', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(configs, fc.array(inputs, { minLength: 60, maxLength: 120 }), (config, walk) => {
        let state: ConnectState = newConnectState
        for (const input of walk) {
          const move = advance(config, state, input)
          if (move.ok) state = move.value.state
          seen.add(`${config.layout} ${state.page}`)
        }
      }),
      { numRuns: 3_000 },
    )
    for (const page of connectPageNames)
      for (const apiVersion of ['current', 'earlier']) expect([...seen]).toContain(`${apiVersion} ${page}`)
  })
})
