import { minuteMs } from '../../domain/interval.ts'
import { accepted, type Refused, type Result, refused } from '../../domain/refusal.ts'
import { advance, type SessionInput, type Transition } from './advance.ts'
import type { ConnectAction } from './page.ts'
import type { ConnectConfig, ConnectState } from './session.ts'

/** Refusal of a change in a completed session. */
export const refusedComplete: Refused = refused(
  'action_invalid',
  'This session is complete, and its link can only be read: ask for a new link to change the tariff.',
)

/**
 * Time in ms for which a session that has saved a tariff can still change it. Programs that post all pages in a fixed
 * order post the name and the term in this time.
 */
const correctionMs = 10 * minuteMs

/**
 * Check if the token of a session is read-only at `at` (ms). A session without a result is not. A session that was
 * created with `edit_tariff` never is. A session that has saved a tariff becomes read-only 10 minutes after its
 * completion, a session that has disconnected one at once.
 * Source: docs/rules/connect.md #completed-sessions.
 */
export const isReadOnly = (
  {
    config,
    completeAction,
    completedAt,
  }: {
    readonly config: ConnectConfig
    readonly completeAction: 'SAVE' | 'DISCONNECT' | null
    readonly completedAt: number | null
  },
  at: number,
): boolean => {
  if (completedAt === null || (config.editsWhenComplete ?? config.edit)) return false
  return completeAction !== 'SAVE' || at >= completedAt + correctionMs
}

/** Check if a session that is not complete waits for the tariff of a provider. The person has nothing left to do. */
export const isWaitingForProvider = ({ page }: ConnectState): boolean => page === 'pending' || page === 'end'

const capturedText = (state: ConnectState): string => JSON.stringify({ ...state, page: null, trail: [] })

/** After DISCONNECT a session is at its end without a source of prices. */
const isRepeatedDisconnect = (action: ConnectAction, { page, source }: ConnectState): boolean =>
  action === 'DISCONNECT' && page === 'end' && source === null

const keepPage = (state: ConnectState): Result<Transition> => accepted({ state, effect: null })
const endVisit = (state: ConnectState): Result<Transition> => accepted({ state, effect: 'leave' })

/** Check if the page shows a result. The summary of the earlier API version is a page to save from. */
const isResultPage = ({ layout }: ConnectConfig, { page }: ConnectState): boolean =>
  page === 'end' || page === 'pending' || page === 'failed' || (page === 'summary' && layout === 'current')

/** Show the saved tariff, also if the person has begun an edit and not finished it. */
const showResult = ({ layout }: ConnectConfig, state: ConnectState): Result<Transition> =>
  keepPage(
    layout === 'current'
      ? { ...state, page: 'summary', trail: [], source: 'stored' }
      : { ...state, page: 'end', trail: [] },
  )

/**
 * Apply an input to a session with a read-only token. No tariff changes. The start shows the saved tariff. A repeated
 * submit and the pages name and term are answered with the current page. BACK, CLOSE and a repeated SAVE end the visit.
 * A wrong tariff can still be reported. All other inputs are refused with `action_invalid`.
 * Source: docs/rules/connect.md #completed-sessions.
 */
export const advanceCompleted = (
  config: ConnectConfig,
  state: ConnectState,
  input: SessionInput,
): Result<Transition> => {
  switch (input.kind) {
    case 'start':
      return isResultPage(config, state) ? advance(config, state, input) : showResult(config, state)
    case 'submit': {
      const { page } = input.submission
      if (page === 'name' || page === 'term') return keepPage(state)
      const repeated = advance(config, state, input)
      return repeated.ok && capturedText(repeated.value.state) === capturedText(state)
        ? keepPage(state)
        : refusedComplete
    }
    case 'action':
      if (input.action === 'WRONG_TARIFF_REPORT') return advance(config, state, input)
      return ['BACK', 'CLOSE', 'SAVE'].includes(input.action) || isRepeatedDisconnect(input.action, state)
        ? endVisit(state)
        : refusedComplete
  }
}
