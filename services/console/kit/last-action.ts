import type { ApiCall } from './api-requests.ts'

/** Form that restores the state before an action. */
export type Undo = { readonly action: string; readonly fields: Readonly<Record<string, string>> }

/** Requests of the last form of a session, and the form that undoes them. */
export type LastAction = { readonly calls: readonly ApiCall[]; readonly undo: Undo | null }

/** Actions that the next page of their session shows. `take` forgets the action. */
export type LastActions = {
  readonly keep: (session: string, action: LastAction) => void
  readonly take: (session: string) => LastAction | null
}

const maxSessions = 500
/** Longest action that is kept, as JSON. */
const maxLength = 16_384

/** Keep the last action of at most 500 sessions of this process. A long action is not kept. */
export const lastActions = (): LastActions => {
  const actions = new Map<string, LastAction>()
  return {
    keep: (session, action) => {
      actions.delete(session)
      if (JSON.stringify(action).length > maxLength) return
      for (const oldest of actions.keys()) {
        if (actions.size < maxSessions) break
        actions.delete(oldest)
      }
      actions.set(session, action)
    },
    take: session => {
      const action = actions.get(session) ?? null
      actions.delete(session)
      return action
    },
  }
}
