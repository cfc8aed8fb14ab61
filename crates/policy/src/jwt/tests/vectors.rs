//! Keys and tokens for tests, made once by another library; the private keys were thrown away. All say the same.

/// The secret among the keys, in clear.
pub(super) const SECRET: &[u8] = b"a secret of at least sixty-four bytes, so that it is good for HS512 too";

/// The claims of every token.
pub(super) const CLAIMS: &str =
    r#"{"iss":"https://issuer.test","aud":["api","other"],"sub":"ann","exp":2000000000}"#;

/// A set of five keys: `rsa`, `P-256`, `P-384`, `ed`, `secret`.
pub(super) const KEYS: &str = concat!(
    r#"{"keys":[ "#,
    r#"{"kty":"RSA","kid":"rsa","n":"mcGKJlBPyTZU3oqDHuR0p1tKrHhY-l99fejdQCcfgX8bBqG5AdYrul0nUrGJogSKCfitm3"#,
    r#"yEUM1rS61xOeDWehVITiOa5JbVnWZdGh8W9xiSdwLJUehRiCqguSUeLORekNpCHn7v-vw0mLwg4BsFtLrSid-xy2gZAI8KTzx59D"#,
    r#"9uto42EOytah_TYpY_VMrPdYiHItp9ypdcAHNWCbgnerwjfuD82b_MtxNg3q-l16VoqAJ-0Ie-_N85uqs9PTkVY1RhKFIN2GgCRM"#,
    r#"Vg-LMiMDtXFPu0V9XOJ7XjJ3BptBQmENG2XSnQ7Xb2qDCidpHcdbteDMY0RdmRxCol4N2q9w","e":"AQAB"},"#,
    r#"{"kty":"EC","crv":"P-256","kid":"P-256","x":"QVqBUWYPiSXS2mocA978rhIErUwGcK7MUzKsRdAa0Ao","y":"y_EmS"#,
    r#"2TAdDeSEjCR1fo7aP6M6UOXmhbdEykGJFAUhrg"},"#,
    r#"{"kty":"EC","crv":"P-384","kid":"P-384","x":"0wzY954EjaGsR9WRcvq722FrFpy1iWgy6OPqKCgfxRTTCpzoH9gqFgN"#,
    r#"GQ3t5I858","y":"WhDP7psnDo511QNy4__vpF0j2mcl6vv70NeWc5-hxU1aQ-AdAKdcUeakB1zxIw-i"},"#,
    r#"{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"9xEk7Ii5CXWoAGEPEewn0HZ-8Zl2J2YdjmquS2lMNpA"},"#,
    r#"{"kty":"oct","kid":"secret","k":"YSBzZWNyZXQgb2YgYXQgbGVhc3Qgc2l4dHktZm91ciBieXRlcywgc28gdGhhdCBpdCB"#,
    r#"pcyBnb29kIGZvciBIUzUxMiB0b28"}"#,
    r#"]}"#
);

/// One token for each algorithm.
pub(super) const TOKENS: &[(&str, &str)] = &[
    (
        "RS256",
        concat!(
            "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaSIsIm",
            "90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.eb5Agnfrc_L3ytUjPLVePSTlGSI4XnH3JoHx767WQzUTa",
            "lo0Xwr1ZRsFN4hw0qQbDy6ZE7bqPGt_4mQ3gpA5QPrJVgkthh3p-qaPAZuR_aTRY_xMxgUuR9Rk_hjSIxTxVqmo8AWtOeC9",
            "wxJY2rVzpa-PuM-KR2VytwpCBVd7H4SlSPssvclI_kka5Qm_ZcgOcDuvY0iFOJHWWUs-NxwTZce5tO9KRZ-exyr7gGqccQ2",
            "gxU5916kcKmqKw3evhQIufl8dwyiZEn1ouSqTTYfdTOLpH6-7C9xYaMNAgMUB3NW4-yJARdUuTuOfNCpzcHkmxUihlkg-g1",
            "dCFu2Bxa3JyQ",
        ),
    ),
    (
        "PS256",
        concat!(
            "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaSIsIm",
            "90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.J9NXJmPFfUavoecGZ0XS3ibwIuHhyoo2lwoTVO-5BmhBE",
            "RtUl-6vRHoOTvgaYzqf4Xv9iASPPAj_QAjJSfnA2gGX_SdX-avRjYZuqTrXZp2h6ntI1fBnY4m8JztBnVGbk5xIf7quLUXh",
            "S8Vkvpf2dkbLE5jhHTh6Ai2fDaEdOnrUemhLaT-LsBn1i-gtnH3kxfUp-0RM5lOR2Y1SodOAW4K1PLMO-zltA6Sn5xTPPnf",
            "2G-z0HRH8FEOAiKPyRSpXrno5xhd1DrcYVEOVAHWUHp0zHaklpiDnAcyT_TybZjBCl8EZvuMBX7Kf-dueW0k9wXGORgkMJq",
            "UMlZdzA2hmYA",
        ),
    ),
    (
        "ES256",
        concat!(
            "eyJhbGciOiJFUzI1NiIsImtpZCI6IlAtMjU2In0.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaSI",
            "sIm90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.ojv7_u5dfKEWchNo5tLFn6TmMU5_Ozec5rWyfCZz9d",
            "4P-bHxWFBMFNMZ_W0aqu_6yxsq35voUBj3zH8Hzv-lvw",
        ),
    ),
    (
        "ES384",
        concat!(
            "eyJhbGciOiJFUzM4NCIsImtpZCI6IlAtMzg0In0.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaSI",
            "sIm90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.bAK_F3r6KMNVMaFMhMG_NbrNI1yfKjQ8ePAuzM-w7S",
            "neSVKAbg2zO7o_b9IscBLJyNmHYJAnLbkL-WoLco7Z6BA6Ci3mgKjFojB2PeTykbCB0TDWgiZZwM5tovUDoitX",
        ),
    ),
    (
        "EdDSA",
        concat!(
            "eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaSIsIm9",
            "0aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.07Xnv0vZolS8oFegKGVWQOrwTZlm1YMaS-p27bCjCzTZjM",
            "lnj2UM9KSoZT5M5qw_ZCSDR86UZZWsPca-M4_gBw",
        ),
    ),
    (
        "HS256",
        concat!(
            "eyJhbGciOiJIUzI1NiIsImtpZCI6InNlY3JldCJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaS",
            "IsIm90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.5P0LmaoQf54XG-SXhRpkUsQgJCxSkZCV7WQJGC5-Z",
            "0I",
        ),
    ),
    (
        "HS384",
        concat!(
            "eyJhbGciOiJIUzM4NCIsImtpZCI6InNlY3JldCJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaS",
            "IsIm90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.EBaVbPoKW1ybW_NN9cqFqOEZBVQ5jGQlMtIv0YZmM",
            "guuv73jbMuRqiKDqo5NreMV",
        ),
    ),
    (
        "HS512",
        concat!(
            "eyJhbGciOiJIUzUxMiIsImtpZCI6InNlY3JldCJ9.eyJpc3MiOiJodHRwczovL2lzc3Vlci50ZXN0IiwiYXVkIjpbImFwaS",
            "IsIm90aGVyIl0sInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMH0.J1fDKa4B5FXbkZROz1HhASVo2wHXqRFfTTCeA9Ixk",
            "QPvUfnDntytTOgKUXjfT2JupB9KrtisVIhmZkd7NF1srw",
        ),
    ),
];
