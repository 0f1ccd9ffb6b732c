import { describe, expect, it } from 'vitest'
import { type ErrorCase, expectError } from '../../../support/http/error-case.ts'
import { send, testApp } from '../../../support/http/http-app.ts'

const cases: readonly ErrorCase[] = [
  ...['iso-8859-1', 'utf-16', '"us-ascii"', ''].map(
    (charset): ErrorCase => ({
      title: `charset=${charset}`,
      request: [
        'POST',
        '/things',
        { body: '{"name":"a"}', headers: { 'content-type': `application/json; charset=${charset}` } },
      ],
      status: 415,
      code: 'media_type_unsupported',
      context: 'api.thing_create',
    }),
  ),
  {
    title: 'no Content-Type',
    request: ['POST', '/things', { body: '{"name":"a"}', headers: { 'content-type': '' } }],
    status: 415,
    code: 'media_type_unsupported',
    context: 'api.thing_create',
  },
  {
    title: 'a form',
    request: ['POST', '/things', { body: 'name=a', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    status: 415,
    code: 'media_type_unsupported',
    context: 'api.thing_create',
  },
  {
    title: 'a coding other than gzip',
    request: ['POST', '/things', { body: '{"name":"a"}', headers: { 'content-encoding': 'br' } }],
    status: 415,
    code: 'media_type_unsupported',
    context: 'api.thing_create',
  },
  {
    title: 'a body that is not gzip',
    request: ['POST', '/things', { body: '{"name":"a"}', headers: { 'content-encoding': 'gzip' } }],
    status: 400,
    code: 'body_invalid',
    context: 'api.thing_create',
  },
  {
    title: 'a body that is not JSON',
    request: ['POST', '/things', { body: '{"name":' }],
    status: 400,
    code: 'body_invalid',
    context: 'api.thing_create',
  },
  {
    title: 'a member twice',
    request: ['POST', '/things', { body: '{"name":"a","name":"b"}' }],
    status: 400,
    code: 'body_invalid',
    context: 'api.thing_create',
    message: /"name" twice/,
  },
  {
    title: 'an unknown field',
    request: ['POST', '/things', { body: { nam: 'a' } }],
    status: 400,
    code: 'unknown_field',
    context: 'api.thing_create',
    message: /did you mean name\?/,
  },
  {
    title: 'an unknown parameter',
    request: ['POST', '/things?lod=1', { body: { name: 'a' } }],
    status: 400,
    code: 'unknown_parameter',
    context: 'api.thing_create',
    message: /did you mean loud\?/,
  },
  {
    title: 'a parameter where none is known',
    request: ['GET', '/things/a?x=1', {}],
    status: 400,
    code: 'unknown_parameter',
    context: 'api.thing_retrieve',
  },
  {
    title: 'a parameter twice',
    request: ['POST', '/things?loud=1&loud=0', { body: { name: 'a' } }],
    status: 400,
    code: 'field_invalid',
    context: 'api.thing_create',
  },
  {
    title: 'a number out of range',
    request: ['POST', '/things', { body: '{"name":"a","count":1e400}' }],
    status: 400,
    code: 'value_out_of_range',
    context: 'api.thing_create',
  },
  {
    title: 'a validation error in the earlier API version',
    request: ['POST', '/things', { body: { name: 'refuse' }, headers: { 'api-version': '2024-08-24' } }],
    status: 409,
    code: 'reference_id_taken',
    context: 'api.thing_create',
    message: /^direction is taken\.$/,
  },
  {
    title: 'an Idempotency-Key of 256 characters',
    request: ['POST', '/things', { body: { name: 'a' }, headers: { 'idempotency-key': 'k'.repeat(256) } }],
    status: 400,
    code: 'header_invalid',
    context: 'api.thing_create',
  },
]

describe('an error of a request body', () => {
  it.each(cases)('$title is $status $code', expectError)
})

describe('a body in UTF-8', () => {
  it.each([
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; profile=x; Charset=utf8',
  ])('is taken: %s', async type => {
    expect(
      (await send(testApp().app, 'POST', '/things', { body: '{"name":"a"}', headers: { 'content-type': type } }))
        .status,
    ).toBe(201)
  })
})
