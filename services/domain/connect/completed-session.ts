import { accepted, type Result, refused } from '../refusal.ts'
import { advance, type SessionInput, type Transition } from './advance.ts'
import type { ConnectAction, ConnectPageName } from './page.ts'
import type { ConnectConfig, ConnectState } from './session.ts'

/** The refusal of a change in a session that is complete. */
export const refusedComplete = refused(
  'action_invalid',
  'This session is complete, and its link can only be read: ask for a new link to change the tariff.',
)

/** Tell whether the token of a completed session may only read: always, unless the session was created with `edit_tariff`. */
export const isReadOnly = ({
  config,
  completedAt,
}: {
  readonly config: ConnectConfig
  readonly completedAt: number | null
}): boolean => completedAt !== null && !(config.editsWhenComplete ?? config.edit)

const capturedText = (state: ConnectState): string => JSON.stringify({ ...state, page: null, trail: [] })

/** Disconnecting leaves a session at its end without a source of prices. */
const isRepeatedDisconnect = (action: ConnectAction, { page, source }: ConnectState): boolean =>
  action === 'DISCONNECT' && page === 'end' && source === null

const keepPage = (state: ConnectState): Result<Transition> => accepted({ state, effect: null })
const endVisit = (state: ConnectState): Result<Transition> => accepted({ state, effect: 'leave' })

/** Programs that post all pages in a fixed order post those of name and term after the summary, which completes: they are this late at most. */
const lateSubmissionMs = 600_000

/** Tell whether a page of the fixed order was skipped, and its program is still under way. */
const isLateSubmission = (page: ConnectPageName, { name, term }: ConnectState, elapsedMs: number): boolean =>
  elapsedMs < lateSubmissionMs && ((page === 'name' && name === null) || (page === 'term' && term === null))

/**
 * Answer an input of a completed session whose token may only read, `sinceMs` after it was completed. The page stays as it is. A repeated
 * submit and the pages of name and term are answered with that page; name and term are taken once, in the first ten minutes, if they were
 * never given. BACK, CLOSE and a repeated SAVE end the visit; a wrong tariff can still be reported. Everything else is refused with
 * `action_invalid`. Source: docs/rules/connect.md #completed-sessions.
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
