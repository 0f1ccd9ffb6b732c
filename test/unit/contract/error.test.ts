import { describe, expect, it } from 'vitest'
import { chooseApiVersion, readApiVersionHeader } from '../../../services/contract/api-version.ts'
import { errorObject, statusOf } from '../../../services/contract/error.ts'
import { type RefusalCode, refusalCodes } from '../../../services/domain/refusal.ts'

const occasion = {
  context: 'api.customer_create',
  requestId: 'req_1',
  at: 1_757_844_000_123,
  apiVersion: 'current',
} as const

describe('the status of a refusal', () => {
  it.each<readonly [RefusalCode, number, number]>([
    ['field_invalid', 400, 409],
    ['tariff_overlap', 400, 409],
    ['location_not_found', 400, 409],
    ['header_invalid', 400, 409],
    ['bad_credentials', 401, 401],
    ['insufficient_scope', 403, 403],
    ['not_found', 404, 404],
    ['method_not_allowed', 405, 405],
    ['idempotency_in_progress', 409, 409],
    ['body_too_large', 413, 413],
    ['media_type_unsupported', 415, 415],
    ['no_price_data', 422, 422],
    ['rate_limited', 429, 429],
    ['internal_error', 500, 500],
    ['batch_pending', 503, 503],
  ])('%s is %i, and %i in the earlier API version', (code, current, earlier) => {
    expect([statusOf(code, 'current'), statusOf(code, 'earlier')]).toEqual([current, earlier])
  })

  it('depends on the API version for validation errors only', () => {
    for (const code of refusalCodes) {
      const [current, earlier] = [statusOf(code, 'current'), statusOf(code, 'earlier')]
      expect(current === earlier || (current === 400 && earlier === 409)).toBe(true)
    }
  })
})

describe('the error object', () => {
  it('has a sentence and no absent members', () => {
    expect(
      errorObject(
        { code: 'field_required', message: 'value is required', field: '[3].value' },
        { ...occasion, liveMode: false },
      ),
    ).toEqual({
      object: 'error',
      type: 'invalid_request',
      code: 'field_required',
      message: 'value is required.',
      field: '[3].value',
      live_mode: false,
      context: 'api.customer_create',
      request_id: 'req_1',
      time_created: '2025-09-14T10:00:00.123Z',
    })
  })

  it.each<readonly [RefusalCode, string, string]>([
    ['rate_limited', 'api.x', 'rate_limit'],
    ['unavailable', 'api.x', 'api_error'],
    ['unavailable', 'connect.session_start', 'connect_error'],
    ['data_json_invalid' as RefusalCode, 'connect.session_start', 'invalid_request'],
  ])('%s in %s is of type %s', (code, context, type) => {
    expect(errorObject({ code, message: 'x' }, { ...occasion, context }).type).toBe(type)
  })

  it('stays below 8 KiB with long quotes', () => {
    const refusal = { code: 'field_invalid', message: '€'.repeat(100_000), field: '€'.repeat(100_000) } as const
    expect(Buffer.byteLength(JSON.stringify(errorObject(refusal, occasion)))).toBeLessThan(8_192)
  })
})

describe('the API version of a request', () => {
  it('follows from the header, else from a path of one version, else from the account', () => {
    expect(readApiVersionHeader('2025-09-14')).toEqual({ ok: true, value: 'current' })
    expect(readApiVersionHeader(' 2024-08-24 ')).toEqual({ ok: true, value: 'earlier' })
    expect(readApiVersionHeader(undefined)).toEqual({ ok: true, value: null })
    expect(chooseApiVersion('earlier', ['current', 'earlier'], 'current')).toBe('earlier')
    expect(chooseApiVersion(null, ['earlier'], 'current')).toBe('earlier')
    expect(chooseApiVersion(null, ['current', 'earlier'], 'earlier')).toBe('earlier')
  })

  it('cannot be an unknown version; the refusal names both versions', () => {
    for (const version of ['2025-09-15', 'current', 'latest']) {
      const refused = readApiVersionHeader(version)
      expect(refused).toMatchObject({
        refusal: { code: 'api_version_not_supported', message: expect.stringMatching(/2025-09-14.*2024-08-24/) },
      })
    }
  })
})
