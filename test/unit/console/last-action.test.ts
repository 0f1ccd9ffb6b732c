import { expect, it } from 'vitest'
import { lastActions } from '../../../services/console/kit/last-action.ts'

const action = (path: string) => ({ calls: [{ method: 'PATCH', path }], undo: null })

it('gives an action once, and only to its session', () => {
  const actions = lastActions()
  actions.keep('a', action('/plans/1'))
  expect(actions.take('b')).toBeNull()
  expect(actions.take('a')).toEqual(action('/plans/1'))
  expect(actions.take('a')).toBeNull()
})

it('keeps the latest 500 sessions, and no long action', () => {
  const actions = lastActions()
  for (let n = 0; n <= 500; n += 1) actions.keep(String(n), action('/plans/1'))
  expect([actions.take('0'), actions.take('1')]).toEqual([null, action('/plans/1')])
  actions.keep('long', action('/'.repeat(20_000)))
  expect(actions.take('long')).toBeNull()
})

it('forgets the action before a long one', () => {
  const actions = lastActions()
  actions.keep('a', action('/plans/1'))
  actions.keep('a', action('/'.repeat(20_000)))
  expect(actions.take('a')).toBeNull()
})
