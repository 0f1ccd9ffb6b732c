import { parseJson } from '../../contract/json/strict-json.ts'
import { trimEnd } from '../../domain/trim-end.ts'
import { nextSlice } from '../../platform/concurrency/time-slices.ts'
import {
  type ProviderAppAccount,
  readPlanAnswer,
  readProviderMessage,
  type TariffPlan,
} from '../contract/provider-app.ts'
import type { TariffCredentials } from '../postgres/tariff-credentials.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'

/**
 * Result of a fetch from a provider: the tariff, accounts to choose from, rejected credentials, a refused request, or
 * no answer in time (`away`). Messages come from the provider and are shown to the person.
 */
export type PlanFetchResult =
  | { readonly kind: 'plan'; readonly plan: TariffPlan }
  | { readonly kind: 'accounts'; readonly accounts: readonly ProviderAppAccount[] }
  | { readonly kind: 'credentials' | 'refused'; readonly message: string | null }
  | { readonly kind: 'away' }

const timeoutMs = 10_000
const maxBytes = 1_048_576

const readBody = async (response: Response): Promise<Uint8Array | null> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

const readResponse = async (status: number, bytes: Uint8Array): Promise<PlanFetchResult> => {
  if (status === 422) return { kind: 'credentials', message: readProviderMessage(bytes) }
  if (status >= 400 && status < 500 && status !== 408 && status !== 429)
    return { kind: 'refused', message: readProviderMessage(bytes) }
  if (status !== 200 && status !== 201) return { kind: 'away' }
  const parsed = parseJson(bytes)
  await nextSlice()
  const read = parsed.ok ? readPlanAnswer(parsed.value) : parsed
  if (!read.ok) return { kind: 'refused', message: null }
  return 'plan' in read.value
    ? { kind: 'plan', plan: read.value.plan }
    : { kind: 'accounts', accounts: read.value.accounts }
}

/**
 * Fetch a tariff from the app of a provider, within 10 s and 1 MiB and without redirects. The credentials are sent only
 * to this provider. Errors of the provider are results and are not thrown.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const fetchPlan = async (
  { fetch, credentialsSeal }: Pick<ConnectDependencies, 'fetch' | 'credentialsSeal'>,
  appUrl: string,
  { id, sealed, referenceId }: Pick<TariffCredentials, 'id' | 'sealed' | 'referenceId'>,
): Promise<PlanFetchResult> => {
  const data = credentialsSeal.open(sealed, id)
  const reference = referenceId === null ? '' : `,"reference_id":${JSON.stringify(referenceId)}`
  try {
    const response = await fetch(`${trimEnd(appUrl, '/')}/api/tariff_plan`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: `{"auth_metadata":{"data":${data}${reference}}}`,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const bytes = await readBody(response)
    return bytes === null ? { kind: 'refused', message: null } : await readResponse(response.status, bytes)
  } catch (error) {
    if (error instanceof TypeError || (error instanceof Error && ['TimeoutError', 'AbortError'].includes(error.name)))
      return { kind: 'away' }
    throw error
  }
}
