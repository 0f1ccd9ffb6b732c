import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advance, type SessionInput, type Transition } from '../../../../services/connect/domain/advance.ts'
import { advanceCompleted, isReadOnly } from '../../../../services/connect/domain/completed-session.ts'
import { type ConnectConfig, newConnectState } from '../../../../services/connect/domain/session.ts'
import type { Result } from '../../../../services/domain/refusal.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { configs, inputs } from './page-inputs.ts'

const minuteMs = 60_000

/** The facts of a session that the service stores: its state, its result and the tariff that it has saved. */
type ModelSession = {
  readonly state: typeof newConnectState
  readonly completeAction: 'SAVE' | 'DISCONNECT' | null
  readonly completedAt: number | null
  readonly saves: number
}

const newSession: ModelSession = { state: newConnectState, completeAction: null, completedAt: null, saves: 0 }

const step = (config: ConnectConfig, session: ModelSession, input: SessionInput, at: number): Result<Transition> =>
  (isReadOnly({ config, ...session }, at) ? advanceCompleted : advance)(config, session.state, input)

/** Apply one input as the service does; a refused input changes nothing. */
const take = (config: ConnectConfig, session: ModelSession, input: SessionInput, at: number): ModelSession => {
  const move = step(config, session, input, at)
  if (!move.ok) return session
  const { state, effect } = move.value
  const completedAt = session.completedAt ?? at
  if (effect === 'disconnect') return { ...session, state, completeAction: 'DISCONNECT', completedAt }
  if (effect !== 'save' && effect !== 'complete') return { ...session, state }
  return { state, completeAction: 'SAVE', completedAt, saves: session.saves + (effect === 'save' ? 1 : 0) }
}

const walkOf = fc.array(fc.tuple(inputs, fc.constantFrom(0, 1_000, minuteMs, 4 * minuteMs, 11 * minuteMs)), {
  minLength: 1,
  maxLength: 25,
})

const action = (name: Extract<SessionInput, { kind: 'action' }>['action']): SessionInput => ({
  kind: 'action',
  action: name,
  page: null,
})

const opened: SessionInput = { kind: 'start', tariffStatus: 'connected' }

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

const submits: readonly SessionInput[] = (
  [
    { page: 'address', address: { country_code: 'NO' }, regions: [], hasMarketSource: false, currencyCode: 'NOK' },
    {
      page: 'provider',
      provider: { id: 'prv_1', displayName: 'Volt', logoUrl: null, loginUrl: null, hasLibrary: false },
    },
    { page: 'structure', structure: 'FIXED' },
    { page: 'fixed', cost: '0.3' },
  ] as const
).map(submission => ({ kind: 'submit', submission }))

/** A session that has saved a fixed price at 0 ms. */
const savedSession = (layout: ConnectConfig['layout']): ModelSession => {
  const start: SessionInput = { kind: 'start', tariffStatus: 'none' }
  const walk = [start, ...submits, ...(layout === 'earlier' ? [action('SAVE')] : [])]
  const session = walk.reduce((before, input) => take({ ...config, layout }, before, input, 0), newSession)
  expect(session).toMatchObject({ completeAction: 'SAVE', completedAt: 0, saves: 1 })
  return session
}

describe.each(['current', 'earlier'] as const)('a session of the %s API version', layout => {
  const of = { ...config, layout }

  it('is not complete after it has opened at an existing tariff, and keeps every button at any time', () => {
    const session = take(of, newSession, opened, 0)
    expect(session).toMatchObject({ completeAction: null, completedAt: null, state: { page: 'summary' } })
    for (const name of ['WRONG_TARIFF_REPORT', 'EDIT', 'DISCONNECT', 'CLOSE', 'BACK'] as const)
      expect([name, step(of, session, action(name), 24 * 60 * minuteMs).ok]).toEqual([name, true])
  })

  it('is not complete after a tariff of another session replaces a pending one', () => {
    const pending = take(of, newSession, { kind: 'start', tariffStatus: 'pending' }, 0)
    expect(take(of, pending, opened, minuteMs)).toMatchObject({ completedAt: null, state: { page: 'summary' } })
  })

  it('keeps EDIT, DISCONNECT and BACK for ten minutes after it has saved', () => {
    const session = savedSession(layout)
    for (const [at, isKept] of [
      [0, true],
      [10 * minuteMs - 1, true],
      [10 * minuteMs, false],
    ] as const) {
      expect([at, step(of, session, action('EDIT'), at).ok]).toEqual([at, isKept])
      expect([at, step(of, session, action('DISCONNECT'), at).ok]).toEqual([at, isKept])
      const back = acceptedValue(step(of, session, action('BACK'), at))
      const pageBefore = layout === 'current' ? 'fixed' : 'summary'
      const expected = isKept ? [pageBefore, null] : [session.state.page, 'leave']
      expect([at, back.state.page, back.effect]).toEqual([at, ...expected])
    }
  })

  it('saves again after EDIT within ten minutes, and shows the saved tariff after an edit that was not finished', () => {
    const edited = [action('EDIT'), ...submits.slice(1), action('SAVE')].reduce(
      (session, input) => take(of, session, input, 9 * minuteMs),
      savedSession(layout),
    )
    expect(edited).toMatchObject({ saves: 2, completedAt: 0 })
    const unfinished = take(of, savedSession(layout), action('EDIT'), 9 * minuteMs)
    expect(unfinished.state.page).toBe('provider')
    expect(step(of, unfinished, submits[2] ?? opened, 11 * minuteMs).ok).toBe(false)
    const again = take(of, unfinished, opened, 11 * minuteMs)
    expect(again.state.page).toBe(layout === 'current' ? 'summary' : 'end')
  })
})

describe('a session with random inputs and pauses', () => {
  it('changes no tariff once it is read-only, and everything before that', () => {
    fc.assert(
      fc.property(configs, fc.constantFrom('none', 'connected'), walkOf, (drawn, tariffStatus, walk) => {
        let at = 0
        let session = take(drawn, newSession, { kind: 'start', tariffStatus }, at)
        for (const [input, pauseMs] of walk) {
          at += pauseMs
          const isOpen =
            session.completedAt === null ||
            drawn.edit ||
            (session.completeAction === 'SAVE' && at - session.completedAt < 10 * minuteMs)
          const move = step(drawn, session, input, at)
          if (isOpen) expect(move).toEqual(advance(drawn, session.state, input))
          else if (move.ok) expect([null, 'leave', 'report']).toContain(move.value.effect)
          session = take(drawn, session, input, at)
        }
      }),
      { numRuns: 3_000 },
    )
  })
})
