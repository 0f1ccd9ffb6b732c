import type { Secret } from '../platform/access/secrets.ts'
import { readWithinLimit } from '../platform/http/request-body.ts'
import { isOwnForm } from './session.ts'

/** Largest form, in bytes. */
const maxFormBytes = 65_536

/** Read a form; null if the body is not a form or is too large. */
const readForm = async (request: Request): Promise<URLSearchParams | null> => {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded' || request.body === null) return null
  const formBytes = await readWithinLimit(request.body, maxFormBytes, { account: '', hasCapacity: () => true })
  return formBytes.ok ? new URLSearchParams(Buffer.from(formBytes.value).toString('utf8')) : null
}

/** Return true if the Origin header names this host. */
export const isSameSite = (request: Request): boolean => {
  const origin = request.headers.get('origin')
  return origin !== null && URL.canParse(origin) && new URL(origin).host === request.headers.get('host')
}

const maxKnownForms = 10_000
const formIdPattern = /^[0-9a-f-]{36}$/

/** Read a form of this console; null for forms of other sites or other sessions. */
export const readOwnForm = async (request: Request, secret: Secret, token: string): Promise<URLSearchParams | null> => {
  const form = isSameSite(request) ? await readForm(request) : null
  return form !== null && isOwnForm(secret, token, form.get('csrf') ?? '') ? form : null
}

/** Return true for HTTPS. The Origin header also shows HTTPS if a proxy terminates TLS. */
export const isSecure = (request: Request, url: URL): boolean =>
  url.protocol === 'https:' || request.headers.get('origin')?.startsWith('https://') === true

/** Ids of sent forms. `begin` returns false for a form that was sent before; after `forget` it can be sent again. */
export type SentForms = { readonly begin: (id: string) => boolean; readonly forget: (id: string) => void }

/** Store the ids of the last 10,000 sent forms, so that a second click changes nothing. */
export const sentForms = (): SentForms => {
  const sentIds = new Set<string>()
  return {
    begin: id => {
      if (!formIdPattern.test(id) || sentIds.has(id)) return false
      for (const oldest of sentIds) {
        if (sentIds.size < maxKnownForms) break
        sentIds.delete(oldest)
      }
      sentIds.add(id)
      return true
    },
    forget: id => {
      sentIds.delete(id)
    },
  }
}
