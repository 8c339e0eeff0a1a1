/** The service's own texts of mails in one language. `@Name` is the name of the application. */
export interface DefaultTexts {
  readonly resetCode: DefaultText;
  readonly verifyCode: DefaultText;
  readonly noticeSubject: string;
  /** The sentences of a notice, in lines short enough to be sent without an encoding. */
  readonly notices: Readonly<Record<NoticeKind, readonly string[]>>;
  /** Ends a mail with a code whose text a client has written. */
  readonly footer: readonly string[];
}

/** What a notice is about: a changed address, or one that codes are still not mailed to. */
export type NoticeKind = "addressChanged" | "addressHeld";

interface DefaultText {
  readonly subject: string;
  readonly before: string;
  readonly after: string;
}

/** By language: the first subtag of a BCP 47 tag. */
export const defaultTexts: Readonly<Record<string, DefaultTexts>> & { readonly en: DefaultTexts } = {
  en: {
    resetCode: {
      subject: "@Name: your code for a new password",
      before: "With this code you can set a new password for your account at @Name:",
      after: "If you did not ask for it, ignore this mail.",
    },
    verifyCode: {
      subject: "@Name: your code for this address",
      before: "With this code you confirm that this is the address of your account at @Name:",
      after: "If you did not ask for it, ignore this mail.",
    },
    noticeSubject: "@Name: your account was changed",
    notices: {
      addressChanged: [
        "The e-mail address of your account was changed.",
        "If that was not you, ask those who run the application for help.",
      ],
      addressHeld: [
        "The e-mail address of your account was changed. For seven days, codes",
        "for a new password are still mailed to this address.",
        "",
        "If that was not you, ask for such a code now and set a new password.",
        "That also makes this address the one of your account again.",
      ],
    },
    footer: [
      "You get this mail because a code was requested for an account with",
      "this address. If that was not you, ignore it.",
    ],
  },
  de: {
    resetCode: {
      subject: "@Name: dein Code für ein neues Passwort",
      before: "Mit diesem Code kannst du ein neues Passwort für dein Konto bei @Name setzen:",
      after: "Wenn du ihn nicht angefordert hast, ignoriere diese E-Mail.",
    },
    verifyCode: {
      subject: "@Name: dein Code für diese Adresse",
      before: "Mit diesem Code bestätigst du, dass dies die Adresse deines Kontos bei @Name ist:",
      after: "Wenn du ihn nicht angefordert hast, ignoriere diese E-Mail.",
    },
    noticeSubject: "@Name: dein Konto wurde geändert",
    notices: {
      addressChanged: [
        "Die E-Mail-Adresse deines Kontos wurde geändert.",
        "Wenn du das nicht warst, wende dich an die Betreiber der Anwendung.",
      ],
      addressHeld: [
        "Die E-Mail-Adresse deines Kontos wurde geändert. Sieben Tage lang",
        "gehen Codes für ein neues Passwort weiter an diese Adresse.",
        "",
        "Wenn du das nicht warst, fordere jetzt einen Code an und setze ein neues",
        "Passwort. Dann ist diese Adresse auch wieder die deines Kontos.",
      ],
    },
    footer: [
      "Du bekommst diese E-Mail, weil ein Code für ein Konto mit dieser Adresse",
      "angefordert wurde. Wenn du das nicht warst, ignoriere sie.",
    ],
  },
  fr: {
    resetCode: {
      subject: "@Name : votre code pour un nouveau mot de passe",
      before: "Avec ce code, vous pouvez choisir un nouveau mot de passe pour votre compte @Name :",
      after: "Si vous ne l’avez pas demandé, ignorez cet e-mail.",
    },
    verifyCode: {
      subject: "@Name : votre code pour cette adresse",
      before: "Avec ce code, vous confirmez que cette adresse est celle de votre compte @Name :",
      after: "Si vous ne l’avez pas demandé, ignorez cet e-mail.",
    },
    noticeSubject: "@Name : votre compte a été modifié",
    notices: {
      addressChanged: [
        "L’adresse e-mail de votre compte a été modifiée.",
        "Si ce n’était pas vous, contactez les responsables de l’application.",
      ],
      addressHeld: [
        "L’adresse e-mail de votre compte a été modifiée. Pendant sept jours,",
        "les codes pour un nouveau mot de passe sont encore envoyés ici.",
        "",
        "Si ce n’était pas vous, demandez un code maintenant et choisissez un",
        "nouveau mot de passe. Cette adresse redeviendra celle de votre compte.",
      ],
    },
    footer: [
      "Vous recevez cet e-mail car un code a été demandé pour un compte avec",
      "cette adresse. Si ce n’était pas vous, ignorez-le.",
    ],
  },
  es: {
    resetCode: {
      subject: "@Name: tu código para una contraseña nueva",
      before: "Con este código puedes poner una contraseña nueva en tu cuenta de @Name:",
      after: "Si no lo has pedido, ignora este correo.",
    },
    verifyCode: {
      subject: "@Name: tu código para esta dirección",
      before: "Con este código confirmas que esta es la dirección de tu cuenta de @Name:",
      after: "Si no lo has pedido, ignora este correo.",
    },
    noticeSubject: "@Name: se ha cambiado tu cuenta",
    notices: {
      addressChanged: [
        "Se ha cambiado la dirección de correo de tu cuenta.",
        "Si no has sido tú, pide ayuda a los responsables de la aplicación.",
      ],
      addressHeld: [
        "Se ha cambiado la dirección de correo de tu cuenta. Durante siete días,",
        "los códigos para una contraseña nueva se siguen enviando aquí.",
        "",
        "Si no has sido tú, pide ahora un código y pon una contraseña nueva.",
        "Así esta dirección vuelve a ser la de tu cuenta.",
      ],
    },
    footer: [
      "Recibes este correo porque se ha pedido un código para una cuenta con",
      "esta dirección. Si no has sido tú, ignóralo.",
    ],
  },
  pt: {
    resetCode: {
      subject: "@Name: o seu código para uma nova palavra-passe",
      before: "Com este código pode definir uma nova palavra-passe para a sua conta em @Name:",
      after: "Se não o pediu, ignore este e-mail.",
    },
    verifyCode: {
      subject: "@Name: o seu código para este endereço",
      before: "Com este código confirma que este é o endereço da sua conta em @Name:",
      after: "Se não o pediu, ignore este e-mail.",
    },
    noticeSubject: "@Name: a sua conta foi alterada",
    notices: {
      addressChanged: [
        "O endereço de e-mail da sua conta foi alterado.",
        "Se não foi você, peça ajuda aos responsáveis pela aplicação.",
      ],
      addressHeld: [
        "O endereço de e-mail da sua conta foi alterado. Durante sete dias, os",
        "códigos para uma nova palavra-passe continuam a ser enviados para aqui.",
        "",
        "Se não foi você, peça agora um código e defina uma nova palavra-passe.",
        "Assim, este endereço volta a ser o da sua conta.",
      ],
    },
    footer: [
      "Recebe este e-mail porque foi pedido um código para uma conta com este",
      "endereço. Se não foi você, ignore-o.",
    ],
  },
  it: {
    resetCode: {
      subject: "@Name: il tuo codice per una nuova password",
      before: "Con questo codice puoi impostare una nuova password per il tuo account @Name:",
      after: "Se non l’hai richiesto, ignora questa e-mail.",
    },
    verifyCode: {
      subject: "@Name: il tuo codice per questo indirizzo",
      before: "Con questo codice confermi che questo è l’indirizzo del tuo account @Name:",
      after: "Se non l’hai richiesto, ignora questa e-mail.",
    },
    noticeSubject: "@Name: il tuo account è stato modificato",
    notices: {
      addressChanged: [
        "L’indirizzo e-mail del tuo account è stato modificato.",
        "Se non sei stato tu, chiedi aiuto a chi gestisce l’applicazione.",
      ],
      addressHeld: [
        "L’indirizzo e-mail del tuo account è stato modificato. Per sette giorni",
        "i codici per una nuova password vengono ancora inviati qui.",
        "",
        "Se non sei stato tu, richiedi ora un codice e imposta una nuova password.",
        "Così questo indirizzo torna a essere quello del tuo account.",
      ],
    },
    footer: [
      "Ricevi questa e-mail perché è stato richiesto un codice per un account",
      "con questo indirizzo. Se non sei stato tu, ignorala.",
    ],
  },
  ja: {
    resetCode: {
      subject: "@Name：新しいパスワードのためのコード",
      before: "このコードで、@Name のアカウントに新しいパスワードを設定できます：",
      after: "お心当たりがない場合は、このメールを無視してください。",
    },
    verifyCode: {
      subject: "@Name：メールアドレス確認のためのコード",
      before: "このコードで、これが @Name のアカウントのメールアドレスであることを確認します：",
      after: "お心当たりがない場合は、このメールを無視してください。",
    },
    noticeSubject: "@Name：アカウントが変更されました",
    notices: {
      addressChanged: [
        "アカウントのメールアドレスが変更されました。",
        "お心当たりがない場合は、アプリケーションの運営者にお問い合わせください。",
      ],
      addressHeld: [
        "アカウントのメールアドレスが変更されました。",
        "新しいパスワードのためのコードは、7 日間はこのアドレスに送られます。",
        "",
        "お心当たりがない場合は、今すぐコードを請求して新しいパスワードを設定してください。",
        "このアドレスが再びアカウントのアドレスになります。",
      ],
    },
    footer: [
      "このアドレスのアカウントに対してコードが請求されたため、このメールをお送りしています。",
      "お心当たりがない場合は、無視してください。",
    ],
  },
  zh: {
    resetCode: {
      subject: "@Name：用于设置新密码的验证码",
      before: "您可以使用此验证码为您的 @Name 账户设置新密码：",
      after: "如果这不是您本人的操作，请忽略此邮件。",
    },
    verifyCode: {
      subject: "@Name：用于验证此邮箱的验证码",
      before: "请使用此验证码确认这是您的 @Name 账户的邮箱地址：",
      after: "如果这不是您本人的操作，请忽略此邮件。",
    },
    noticeSubject: "@Name：您的账户已更改",
    notices: {
      addressChanged: ["您账户的邮箱地址已更改。", "如果这不是您本人的操作，请联系应用的运营者。"],
      addressHeld: [
        "您账户的邮箱地址已更改。七天内，用于设置新密码的验证码仍会发送到此邮箱。",
        "",
        "如果这不是您本人的操作，请立即请求验证码并设置新密码。",
        "此邮箱将重新成为您账户的邮箱。",
      ],
    },
    footer: ["您收到此邮件，是因为有人为使用此邮箱的账户请求了验证码。", "如果这不是您本人的操作，请忽略此邮件。"],
  },
};
