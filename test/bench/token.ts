import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'

/** Log in with the sandbox's test key and return the bearer token. */
export const tokenOf = async (sandbox: Sandbox): Promise<string> => {
  const basic = Buffer.from(`${sandbox.account_id}:${sandbox.test_key}`).toString('base64')
  const answer = await fetch(`${sandbox.base_url}/login`, { headers: { Authorization: `Basic ${basic}` } })
  const { bearer_token: token } = (await answer.json()) as { bearer_token: string }
  return token
}
