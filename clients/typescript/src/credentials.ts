import { WattledgerError } from './errors.js'

/** API key of an account. */
export type Credentials = {
  /** API key, `sk_live_…` or `sk_test_…`. The key decides the mode. */
  readonly apiKey: string
  /** Account id. With it, the client exchanges the key for a bearer token and renews the token. */
  readonly accountId?: string
}

/** Answer of the login. */
export type Login = { readonly bearer_token: string; readonly expires_in: number }

/** Source of the header `Authorization`. */
export type Authorization = {
  readonly header: () => Promise<string>
  /** Forget a header that the service refused as expired. Returns false if it cannot be renewed. */
  readonly renew: (refused: string) => boolean
}

/** Create the header of the login: the account id and the key. */
export const basicAuthorization = ({ accountId, apiKey }: Credentials): Authorization => ({
  header: async () => {
    if (accountId === undefined) throw new WattledgerError('The login needs the option accountId.')
    return `Basic ${btoa(`${accountId}:${apiKey}`)}`
  },
  renew: () => false,
})

/** Share of its life after which a token is renewed. */
const usableShare = 0.9

/** Create the header of a key: the key itself, or a token that `login` gets and that is renewed before its end. */
export const createAuthorization = ({ apiKey, accountId }: Credentials, login: () => Promise<Login>): Authorization => {
  if (accountId === undefined) return { header: async () => `Bearer ${apiKey}`, renew: () => false }
  let current: { readonly token: Promise<string>; text: string | null; until: number } | null = null
  const start = (): Promise<string> => {
    const answer = login()
    const token = answer.then(({ bearer_token: text }) => `Bearer ${text}`)
    const next = { token, text: null as string | null, until: Number.POSITIVE_INFINITY }
    current = next
    answer.then(
      ({ bearer_token: text, expires_in: seconds }) => {
        next.text = `Bearer ${text}`
        next.until = performance.now() + seconds * 1000 * usableShare
      },
      () => {
        if (current === next) current = null
      },
    )
    return token
  }
  return {
    header: () => (current !== null && performance.now() < current.until ? current.token : start()),
    renew: refused => {
      // Another request can have renewed the token already.
      if (current?.text === refused) current = null
      return true
    },
  }
}
