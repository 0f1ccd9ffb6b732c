import type { Secret } from '../../platform/access/secrets.ts'
import { readWithinLimit } from '../../platform/http/request-body.ts'
import { isOwnForm } from './session.ts'

/** Largest form, in bytes. */
const maxFormBytes = 65_536

/** Read a form; null for what is none, or is too large. */
const readForm = async (request: Request): Promise<URLSearchParams | null> => {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded' || request.body === null) return null
  const formBytes = await readWithinLimit(request.body, maxFormBytes, { account: '', hasCapacity: () => true })
  return formBytes.ok ? new URLSearchParams(Buffer.from(formBytes.value).toString('utf8')) : null
}

/** Whether a form comes from a page of this host, as the browser tells. */
const isSameSite = (request: Request): boolean => {
  const origin = request.headers.get('origin')
  return origin !== null && URL.canParse(origin) && new URL(origin).host === request.headers.get('host')
}

const maxKnownForms = 10_000
const formIdPattern = /^[0-9a-f-]{36}$/

/** Read a form that a page of this console has sent for the visitor with this token; null for any other. */
export const readOwnForm = async (request: Request, secret: Secret, token: string): Promise<URLSearchParams | null> => {
  const form = isSameSite(request) ? await readForm(request) : null
  return form !== null && isOwnForm(secret, token, form.get('csrf') ?? '') ? form : null
}

/** A browser tells with each form where its page came from, also behind a proxy that ends TLS. */
export const isSecure = (request: Request, url: URL): boolean =>
  url.protocol === 'https:' || request.headers.get('origin')?.startsWith('https://') === true

/** The forms that were sent: `begin` gives false for one that was sent before and for one without a name, `forget` lets it be sent again. */
export type SentForms = { readonly begin: (name: string) => boolean; readonly forget: (name: string) => void }

/** Remember which forms were sent, so that a second click or a page loaded again does nothing twice. */
export const sentForms = (): SentForms => {
  const sentNames = new Set<string>()
  return {
    begin: name => {
      if (!formIdPattern.test(name) || sentNames.has(name)) return false
      for (const oldest of sentNames) {
        if (sentNames.size < maxKnownForms) break
        sentNames.delete(oldest)
      }
      sentNames.add(name)
      return true
    },
    forget: name => {
      sentNames.delete(name)
    },
  }
}
