import { describe, it } from 'vitest'
import { type ErrorCase, expectError } from '../../../support/http/error-case.ts'

const cases: readonly ErrorCase[] = [
  {
    title: 'no token',
    request: ['GET', '/things/a', { token: null }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.thing_retrieve',
    headers: { 'www-authenticate': 'Bearer realm="wattledger"' },
  },
  {
    title: 'a wrong token',
    request: ['GET', '/things/a', { token: 'wrong' }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.thing_retrieve',
    headers: { 'www-authenticate': 'Bearer realm="wattledger"' },
  },
  {
    title: 'an expired token',
    request: ['GET', '/things/a', { token: 'old' }],
    status: 401,
    code: 'token_expired',
    context: 'api.thing_retrieve',
    headers: { 'www-authenticate': 'Bearer realm="wattledger"' },
  },
  {
    title: 'Basic credentials where a token is due',
    request: ['GET', '/things/a', { token: null, headers: { authorization: 'Basic YTpi' } }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.thing_retrieve',
  },
  {
    title: 'a token where Basic credentials are due',
    request: ['GET', '/login', {}],
    status: 401,
    code: 'bad_credentials',
    context: 'api.account_login',
    headers: { 'www-authenticate': 'Basic realm="wattledger", charset="UTF-8"' },
  },
  {
    title: 'a reading key that deletes',
    request: ['DELETE', '/things/a', { token: 'read' }],
    status: 403,
    code: 'insufficient_scope',
    context: 'api.thing_delete',
  },
  {
    title: 'a metering key that reads',
    request: ['GET', '/things/a', { token: 'metering' }],
    status: 403,
    code: 'insufficient_scope',
    context: 'api.thing_retrieve',
  },
  {
    title: 'a wrong operator key',
    request: ['DELETE', '/sources/a', { headers: { 'x-operator-key': 'wrong' } }],
    status: 401,
    code: 'bad_credentials',
    context: 'api.source_delete',
  },
  {
    title: 'an unknown id',
    request: ['GET', '/things/none', {}],
    status: 404,
    code: 'not_found',
    context: 'api.thing_retrieve',
  },
  {
    title: 'an id with NUL',
    request: ['GET', '/things/a%00', {}],
    status: 404,
    code: 'not_found',
    context: 'api.thing_retrieve',
  },
  {
    title: 'an id of 256 characters',
    request: ['GET', `/things/${'x'.repeat(256)}`, {}],
    status: 404,
    code: 'not_found',
    context: 'api.thing_retrieve',
  },
]

describe('an error of access', () => {
  it.each(cases)('$title is $status $code', expectError)
})
