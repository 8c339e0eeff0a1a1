/** Matches the output of a first start: credentials of a demo application and an owner, with calls that use them. */
export const demoPattern = /appid {3}(app_\w+)\n {2}appkey {2}(\S+)\n/g;
export const ownerPattern = / {2}name {6}owner\n {2}password {2}(\S+)\n/g;
export const signInPattern = /curl -s http:\/\/127\.0\.0\.1:\d+(\/_\/api\/sessions) -H '([^']+)' -d '([^']+)'/;
export const operatorPattern =
  /^ {2}(TOKEN=.+\n {2}curl -s \S+\/_\/api\/applications -H "Authorization: Service \$TOKEN")$/m;
export const curlPattern = /curl -s http:\/\/127\.0\.0\.1:\d+(\S+) -H 'Content-Type: application\/json' -d '([^']+)'/;
