import { accepted, type Refused, type Result, refused } from '../refusal.ts'
import { advance, type SessionInput, type Transition } from './advance.ts'
import type { ConnectAction, ConnectPageName } from './page.ts'
import type { ConnectConfig, ConnectState } from './session.ts'

/** Refusal of a change in a completed session. */
export const refusedComplete: Refused = refused(
  'action_invalid',
  'This session is complete, and its link can only be read: ask for a new link to change the tariff.',
)

/**
 * Check if the token of a completed session is read-only: always, unless the session was created with `edit_tariff`.
 */
export const isReadOnly = ({
  config,
  completedAt,
}: {
  readonly config: ConnectConfig
  readonly completedAt: number | null
}): boolean => completedAt !== null && !(config.editsWhenComplete ?? config.edit)

const capturedText = (state: ConnectState): string => JSON.stringify({ ...state, page: null, trail: [] })

/** After DISCONNECT a session is at its end without a source of prices. */
const isRepeatedDisconnect = (action: ConnectAction, { page, source }: ConnectState): boolean =>
  action === 'DISCONNECT' && page === 'end' && source === null

const keepPage = (state: ConnectState): Result<Transition> => accepted({ state, effect: null })
const endVisit = (state: ConnectState): Result<Transition> => accepted({ state, effect: 'leave' })

/**
 * Maximum delay in ms of the name and term pages after completion. Programs that post all pages in a fixed order post
 * them after the summary, which completes the session.
 */
const lateSubmissionMs = 600_000

/** Check if the page was skipped in the fixed order and its program can still be posting pages. */
const isLateSubmission = (page: ConnectPageName, { name, term }: ConnectState, elapsedMs: number): boolean =>
  elapsedMs < lateSubmissionMs && ((page === 'name' && name === null) || (page === 'term' && term === null))

/**
 * Apply an input to a completed session with a read-only token, `elapsedMs` after completion. The page does not change.
 * A repeated submit and the pages name and term are answered with the current page. Name and term are accepted once, in
 * the first ten minutes, if they were never sent. BACK, CLOSE and a repeated SAVE end the visit. A wrong tariff can
 * still be reported. All other inputs are refused with `action_invalid`.
 * Source: docs/rules/connect.md #completed-sessions.
 */
export const advanceCompleted = (
  config: ConnectConfig,
  state: ConnectState,
  input: SessionInput,
  elapsedMs: number,
): Result<Transition> => {
  switch (input.kind) {
    case 'start':
      return advance(config, state, input)
    case 'submit': {
      const { page } = input.submission
      const repeated = advance(config, state, input)
      if (page === 'name' || page === 'term')
        return isLateSubmission(page, state, elapsedMs) ? repeated : keepPage(state)
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
