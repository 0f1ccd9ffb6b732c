import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mayCall } from '../../../../services/contract/operation.ts'
import {
  isLastOwner,
  modesOf,
  normalizeAddress,
  passwordProblem,
  providerTextProblem,
  scopeOfRole,
  type userRoles,
} from '../../../../services/domain/user/user.ts'
import { operations } from '../../../../services/operations.ts'

const allowedFor = (role: (typeof userRoles)[number]): readonly string[] =>
  operations.filter(operation => mayCall(operation, scopeOfRole[role])).map(({ id }) => id)

describe('roles', () => {
  it('allow an owner every operation except the login of machines by key', () => {
    expect(allowedFor('owner')).toEqual(operations.map(({ id }) => id))
  })

  it('forbid support exactly the operations on users and the changes of webhook endpoints', () => {
    const allowed = allowedFor('support')
    const forbidden = operations.map(({ id }) => id).filter(id => !allowed.includes(id))
    const users = [
      'user_create',
      'user_list',
      'user_retrieve',
      'user_update',
      'user_delete',
      'user_link_create',
      'user_password_delete',
      'user_provider_login_delete',
    ]
    const endpoints = ['webhook_create', 'webhook_update', 'webhook_delete', 'webhook_secret_rotate']
    expect(forbidden.toSorted()).toEqual(['account_login', ...users, ...endpoints].toSorted())
  })

  it('allow read only what support may do too, and no change', () => {
    const allowed = new Set(allowedFor('read'))
    expect([...allowed].filter(id => !allowedFor('support').includes(id))).toEqual(['account_login'])
    const changes = /_(create|update|delete|submit|put|import|void|finalise|rotate|stop|resend|test)$/
    const changing = operations.filter(({ id, access }) => allowed.has(id) && access !== 'open' && changes.test(id))
    // Statements and simulations are calculations. An export is a temporary copy of data that the role may read.
    const copies = ['export_create', 'export_delete']
    expect(changing.map(({ id }) => id).toSorted()).toEqual([...copies, 'simulation_create', 'statement_create'])
  })

  it('let a user of test mode enter test mode only', () => {
    expect(modesOf({ liveMode: true })).toEqual([true, false])
    expect(modesOf({ liveMode: false })).toEqual([false])
  })
})

describe('passwords', () => {
  it.each([
    ['elevenchars', 'too_short'],
    ['twelve chars', null],
    ['x'.repeat(128), null],
    ['x'.repeat(129), 'too_long'],
    ['🔋'.repeat(11), 'too_short'],
    ['🔋'.repeat(12), null],
    ['🔋'.repeat(128), null],
    ['🔋'.repeat(129), 'too_long'],
    ['x'.repeat(10_000_000), 'too_long'],
    ['Ada@Example.com', 'is_address'],
  ] as const)('%# are counted in characters', (password, problem) => {
    expect(passwordProblem(password, 'ada@example.com')).toBe(problem)
  })
})

describe('addresses', () => {
  it.each([
    ['  Ada@Example.COM ', 'ada@example.com'],
    ['a.b+c@x.example', 'a.b+c@x.example'],
    ['ada', null],
    ['ada@', null],
    ['ada@b@c', null],
    ['ada lovelace@example.com', null],
    ['<ada@example.com>', null],
    ['', null],
  ])('%s has the normal form %s', (text, address) => {
    expect(normalizeAddress(text)).toBe(address)
  })

  it('have one normal form', () => {
    fc.assert(
      fc.property(fc.emailAddress(), text => {
        const address = normalizeAddress(text)
        if (address !== null) expect(normalizeAddress(address)).toBe(address)
      }),
    )
  })
})

describe('the last owner', () => {
  it('is the only owner who can sign in', () => {
    expect(isLastOwner('usr_1', ['usr_1'])).toBe(true)
    expect(isLastOwner('usr_1', ['usr_1', 'usr_2'])).toBe(false)
    expect(isLastOwner('usr_1', ['usr_2'])).toBe(false)
    expect(isLastOwner('usr_1', [])).toBe(false)
  })
})

describe('a text of an OpenID provider', () => {
  it.each([
    ['of one character', 'a', null],
    ['of 255 letters', 'x'.repeat(255), null],
    ['of 255 characters of two units', '\u{1f600}'.repeat(255), null],
    ['of 256 letters', 'x'.repeat(256), 'has more than 255 characters'],
    ['of 256 characters of two units', '\u{1f600}'.repeat(256), 'has more than 255 characters'],
    ['without characters', '', 'is empty'],
    ['with NUL', 'a\0b', 'contains the character NUL'],
    ['with half a character', 'a\ud800', 'is not valid Unicode'],
  ])('%s is accepted, or refused with the reason', (_, text, problem) => {
    expect(providerTextProblem(text)).toBe(problem)
  })
})
