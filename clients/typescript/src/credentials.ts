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
  /** Forget the token that the service refused as expired. Returns false if there is no newer one to get. */
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
  let current: { readonly header: Promise<string>; until: number } | null = null
  const start = (): Promise<string> => {
    const answer = login()
    const next = {
      header: answer.then(({ bearer_token: token }) => `Bearer ${token}`),
      until: Number.POSITIVE_INFINITY,
    }
    current = next
    answer.then(
      ({ expires_in: seconds }) => {
        next.until = performance.now() + seconds * 1000 * usableShare
      },
      () => {
        if (current === next) current = null
      },
    )
    return next.header
  }
  let last = ''
  return {
    header: async () => {
      last = await (current !== null && performance.now() < current.until ? current.header : start())
      return last
    },
    renew: refused => {
      if (refused === last) current = null
      return true
    },
  }
}
