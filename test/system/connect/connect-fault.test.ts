import { beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '../../../services/platform/failure.ts'
import { putProviders } from '../../../services/platform/postgres/registry/providers.ts'
import { apiVersions, connectFixture, directId } from '../../support/connect/connect-fixture.ts'
import { type ApiVersion, londonAddress } from '../../support/connect/connect-service.ts'

let thrown: Error = new RangeError('Internal detail.')
const { begin, service } = connectFixture(async () => {
  throw thrown
})

beforeAll(async () => {
  const direct = { loginUrl: 'https://login.example.com', appUrl: 'https://login.example.com', accentColor: null }
  const provider = { id: directId, displayName: 'Direct', logoUrl: null, countries: ['GB'], addressTypes: [], direct }
  await putProviders(service().database.operator, [provider], 0)
})

const consent = async (apiVersion: ApiVersion) => {
  const { flow } = await begin(apiVersion, { postal_address: londonAddress })
  await flow.submit('provider_select', { provider: { id: directId } })
  const asks = await flow.submit('auth_metadata_capture', { user: 'ann' })
  return flow.submit('consent_capture', { auth_metadata_id: asks.data['auth_metadata_id'], consent_given: true })
}

describe.each(apiVersions)('an internal error in the %s API version', apiVersion => {
  it.each([
    [new RangeError('Internal detail.'), 500, 'internal_error'],
    [new Failure('postgres_away', 'Internal detail.', { retriable: true }), 503, 'unavailable'],
  ] as const)(
    'is answered as connect_error with token and page, without internal details: %s',
    async (error, status, code) => {
      thrown = error
      const answer = await consent(apiVersion)
      expect(answer).toMatchObject({
        status,
        body: {
          object: 'error',
          type: 'connect_error',
          code,
          context: 'connect.consent_capture',
          connect_token: expect.stringMatching(/^cot_/),
          message: expect.stringMatching(/.+/),
          request_id: expect.any(String),
        },
      })
      expect(answer.text).not.toContain('Internal detail')
    },
  )
})
