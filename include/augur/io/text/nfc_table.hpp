#pragma once
// Canonical decompositions and combining classes of Unicode 9.0.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace augur::io::detail {

// Written by cmake/nfc_table.py, as numbers: digits from '#' on, of base 46; the 46 characters behind these are digits
// with more to come. Signed numbers are doubled, negative ones less one.

/// For each code point that has one: the step from the last, times 3, plus its kind (0: to one code point; 1: to two,
/// that stay apart; 2: to two, that compose again); then the steps of the first and of the second, signed.
// clang-format off
inline constexpr std::string_view nfc_decompositions =
    R"~(]=SIr5(#%(#%(#%(#-(#'+'R/('RB(#%(#%(#/(+2(#%(#%(#/+-,(%((#%(#%(#%(#-./2(#%(#%(#/(+0.3$(#%(#%(#%(#-(#'+)~"
    R"~('R/('RB(#%(#%(#/(+2(#%(#%(#/+-,(%((#%(#%(#%(#-./2(#%(#%(#/(+0+#1(S6*(R5#(R4'(R5#(R4R9(R5#(R0RB(R5#(R4%)~"
    R"~((R5#(R4-(R5#(R4-(R5#(R2#(R5#.R22(R5#(R4'(R5#(R4%(R5#(R4R7(R5#(R4R,(R5#(R06(R5#(R4+(R5#(R4%(R5#(R4R5(R5)~"
    R"~(#(R2R>(R5#.R2%(R5#(R4%(R5#(R4'(R5#(R4R9(R5#(R4R61%,(R5#(R2R?(R5#+R2R@(R5#(R4RA(R5#(R4R*(R5#4R08(R5#(R4)~"
    R"~(RA(R5#(R4R*(R5#1R22(R5#(R4'(R5#(R4-(R5#.R.6(R5#(R4RA(R5#(R4R*(R5#(R28(R5#(R4%(R5#(R4R?(R5#(R4R*(R5#(R2)~"
    R"~(R+(R5#(R4R*(R5#.R24(R5#(R4%(R5#(R4'(R5#(R4+(R5#(R4%(R5#(R4R/(R5#(R0R@(R5#(R0#(R5#(R4/(%0(R5#(R4/(R5#(R)~"
    R"~(4-(R5#S/RJA(R5#OR(#(R5#RNS.@(R5#(R$#(R5#(R(#(R5#(R(#(R5#(U92(R5#(R4((R5#(R49(R5#(R4:(R5#+S6+(R5#(_##(%)~"
    R"~(#(`2#(R5#.WL3(R5#(R,#(R5#(R,R-(R5#(a9R<(%#(S.3(Z;#(hP#1R:8(R5#.R&$(R5#(TG%(R5#(R2#(R5#(>#(R5#(XN?(R5#()~"
    R"~(R4'(R5#(R,&(R5#(R4'(R5#(R,&(R5#(R4'(R5#(R(&(R5#(R4'(R5#(R.&(R5#(R4'(R5#(R.&(R5#(R4'(R5#(R8M(R5#(R2#(R5)~"
    R"~(#.RLR((R5#:RB,(R5#(R,R5(R5#(UMR:(R5#(R6#(R5#(X,)(R5#(d7((%#(e6#(R5#b<m)&%)G'8(T)T6AlD:UE#(q5#&pD(pM#(')~"
    R"~(#('#+/#+/#(+#(R7#RES(1(;#(;0(+#('#('#(G#REF1(;#(.0(/#(+#45#(#1SMSM2(#3+&01<14K0(&$(9/F8#S)R5#R<(.(#3+&)~"
    R"~(01R;14R,0(&$(9/R?S)5(%#UKU(4(R5#OR@#(R5#(R4'(R5#.R*&(R5#.X''(%#(Y8#(R5#(R2#(R5#.R2*(R5#(R4+(R5#(R(#(R5)~"
    R"~(#.X5#(%#(Y*#(R5#(RH*(R5#(R4+(R5#(R4)(R5#(R,((R5#.R,#(R5#d6eCuA(#%(R7#(R6%(R;$['W%#+J#R*E#x%k#q3=3#.)#S)~"
    R"~(4R0#'%#'%#'-#'-#'%#'5#'+#X'W?VA(#R'R&R@R*'%#*=#V:VCV=-/#S1R8#'%#'-#-A#`1]3]/.#R$(#R'R&R@R*'%#T@UKWET=S)~"
    R"~(/R&(%#($R'Y)V=V;XKV/V;:1#(#%+#J(+IY2V5U=(%#($R'Z1W5V#+#-(),((Mh1`Ce;B7#3-#3-#3-#KR*&BS)SL*#''SI;*%#?SJ)~"
    R"~(#R,R7S5B7#3-#3-#3-#KR*&X*W9V/T|?Sn%SoE+'#+'#+'#+'#1+#SDRG#+'#.'#(%#+)#~FWi<VvH(R5#(R2R0(R5#(R4R-(R5#(R)~"
    R"~(4?(R5#(U5S&(R5#(X&/(R5#(R4R-(R5#(R4?(R5#(R46(R5#(R4/(R5#(X=RN(%#($%(%#(YNRM(R5#(R4)(R5#(d?RH(%#(eP%(R5)~"
    R"~(#(R2((R5#(R2)(R5#(R4R-(R5#(R4R*(R5#(R4R3(R5#(R41(R5#(R2'(R5#(U7S$(R5#(X(#(R5#(R4R9(R5#(R4?(R5#(R2>(R5#)~"
    R"~((XZ=R2(%#(X[PRO(R5#(R4*(R5#(R2RL(R5#(R4/(R5#(R4R-(R5#(R2R,(R5#(R4R-(R5#(R4?(R5#(R4*(R5#(U9RL(R5#(R41(R)~"
    R"~(5#(TG2(%#($%(%#([P#(R5#(R4/(R5#(R0#(R5#(R4R-(R5#(X[KR2(%#(X]0RO(R5#(R2RH(R5#(R4R-(R5#([%R,(%#(-#(%#(XQ)~"
    R"~(I#(%#(X]<#(R5#(R4R-(R5#(R4?(R5#(R4*(R5#(R24(R5#(R4;(R5#(R4((R5#([=RL(%#(%1(%#(]$,(R5#(R4R5(R5#(R2R:(R5)~"
    R"~(#(R4%(R5#(R41(R5#(R4$(R5#(R4R-(R5#(R2R,(R5#(R4%(R5#(R2$(R5#(R2,(R5#(R4R7(R5#(R4?(R5#(F#(;RF()'('#+\5(4)~"
    R"~(^HR-(R5#(R4R((R5#(U-2(R5#(R4$(R5#(R45(R5#(R4.(R5#(XZ%$(%#(XXB$(%#($$(%#($5(%#($.(%#(XX?)(%#(X`LR/(R5#()~"
    R"~(R4R((R5#(R4.(R5#(U5&(R5#(R4$(R5#(R45(R5#(R4.(R5#(XZE$(%#(XaF1(R5#(R4R)(R5#(R(#(R5#(R4R((R5#(U52(R5#(R4)~"
    R"~($(R5#(R45(R5#(R4.(R5#(X[+$(%#(XSD$(%#($$(%#($5(%#($.(%#($R5(%#(_6#(R5#(R4R((R5#(^A2(%#($$(%#($5(%#($.()~"
    R"~(%#($R5(%#(_LR:(R5#(R4R;(R5#(R4R((R5#(R4.(R5#:tIC(#%(WlOJ(%#($%(%#($SI(%#(Wn4S$(#%(WnCJ(%#($%(%#($SI(%#)~"
    R"~((Wm*S$(#%(Wm9J(%#($%(%#.WnLG(#%(Wo-J(%#($%(%#.WmFG(#%(Wn'J(%#($%(%#($SI(%#(Wo:S$(#%(WoIJ(%#($%(%#($SI()~"
    R"~(%#(Wn4S$(#%(WnCJ(%#($%(%#($SI(%#(Wp(S$(#%(Wp7J(%#($%(%#($SI(%#(WnHS$(#%(Wo)J(%#($%(%#.Wp<G(#%(WpKJ(%#()~"
    R"~($%(%#.Wo.G(#%(Wo=J(%#($%(%#($SI(%#+WpPRP+Wq3J+#%+#SI(WoFS$(#%(Wp'J(%#($%(%#($SI(%#(Wq:S$(#%(WqIJ(%#($%)~"
    R"~((%#($SI(%#(Wq:SJ&,(5#&2(7#&4(9#&6(C#&=(0#&3(*#&-.WkCT#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(E#)~"
    R"~((%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(S)#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(%#(WqFSD(#)~"
    R"~(&(WqISI(WqH#(,#+-((WtK)(Wv.SD(#&(#*&8(9T#)RE.s(((XeG)(WqD#(4#+5((Wu1)(WvFSP&<(A#&>(?T#(Wv5SP(#%(#SI(Wt)~"
    R"~(LS>(#&(E*&S:.RGSK(E#(S(S>(#&(#*&@+WyC#(#%(#SI(Ww(S>(#&(/*&R*(EI(#%(+S#(/#(R@S>(#&(#*&P(IK(r&J&pK&sP.Xi)~"
    R"~(/T#(Wq0#(-#+,((Wv?)(Wx6SP&H(R/#&R((R)T#&qL,Xk7&%d(Wx</v8&V1X0X|#<('#R0'#S&S?#(+#(&#T:S)#4-#.)#R?R%#+'#)~"
    R"~(RHR##.1#.'#+)#R<Y[L#+Y]##FJ#(Y\*#('#(Y]'#(%#.=#(%#.)#(%#:)#(%#.1#(%#.)#(%#S2R+#(/#(%#('#T.S$#(%#(K#(%#)~"
    R"~(:R5#(%#(%#(%#TMT[1&%Su:R\<#R}IR_7[~'+'#+'#+'#+'#+'#+'#+'#+'#+'#+'#+'#.)#+'#+'#:1#(#%+)$(#%+)$(#%+)$(#%)~"
    R"~(+)$(#%R<S0$CTG#O?#+'#+'#+'#+'#+'#+'#+'#+'#+'#+'#+'#.)#+'#+'#:1#(#%+)$(#%+)$(#%+)$(#%+)$(#%R<S0$.T+#(%#)~"
    R"~((%#(%#19#Rkl/gU)&ZR8&Zn5&g2&X\:&Xz&&Rb7&c_E&#&bQ4&^oK&_l$&zG&SU?&U|?&SZ5&RmK&a9&^I&Rw9&Z`&&s9&zA&r?&T})~"
    R"~(-&TYA&SSM&c\>&RZ'&Vq-&RqM&Ux5&Vu9&`p0&Uh'&V^=&xO&Z`B&XhC&RhK&[Q$&SQ5&Ri5&Ra#&XZM&`u>&i5&]I&U`-&Rf7&Rs=)~"
    R"~(&RXK&SZ1&Rf#&TE&Rw1&S\'&RR+&m1&ZS>&[=&~O&Rg=&Tp;&StG&UsH&]U(&Rg5&XUG&~I&Td$&Rj1&Uw/&Sf?&`R6&x5&T_5&{%&)~"
    R"~(^7&Td-&\9&Vw#&a_P&\SM&\^>&B&ZsC&y7&Rh#&Ug'&SnN&ZwL&Rs)&X~)&_q4&T_/&RQ5&Uq=&f/&Y_0&ZXE&Z}N&Tx)&U\P&Xe-&)~"
    R"~(Rt<&Vr5&[Q8&RV/&Xd#&TZI&Rj#&Xg2&Yq/&Yh0&S_*&Xr'&Xk$&U^G&ZaL&o5&U+&VgK&U|%&R`=&SR3&RpG&`Z<&_9&R\G&R_M&R)~"
    R"~(o-&SfG&S['&Wz3&RWE&RQ9&S5&ce(&Uy9&RW-&YpG&\w>&s?&UK&mO&Sj/&hM&u+&R]9&RQ3&l?&TjG&SfD&SqE&t'&`tB&W'&h5&W)~"
    R"~(u)&VuK&f-&[m4&^%&x-&R~/&UQ3&SVF&YwP&R|O&RYK&e1&k;&Us#&XO&Sq=&X9&U`=&RWO&T=&Z%&bj:&[Z#&Vv5&RZI&^R.&Ue0&)~"
    R"~(jM&Sp1&T;&S]'&RT'&RyG&RT=&TjM&Su#&TnC&^u@&\i3&aaL&VT)&V-&R^%&`'&R_5&_?&s+&RVC&WlM&bX>&US9&]o#&bQ8&TVM&)~"
    R"~(UT+&YS'&\i$&d+&RnO&St1&Yf;&aiL&f)&SQG&S`E&^C&`%&RR+&Rr3&eC&S_E&S\M&G&SX/&R[?&aaH&WnK&We,&XY=&oO&UZ9&UR)~"
    R"~(7&Rb9&j5&^_:&Rh%&UxK&Rr*&TC&a'&Sb0&hN&WfC&_o6&]pM&\x,&S,&TS9&RQ9&W^;&YSH&U\K&Rj4&Zv'&Rp*&TbK&TTP&[`8&T)~"
    R"~(^&&RU',mO)TcO,U~(&YS?&y3&l-&R9&1&RI&XZ7&WdP&r3)Ri9)RY;,R]7&Y=/R{7&=&RM&RU?&TUJ&Rd'&bY@&^?&U7&a;&R+&UE&)~"
    R"~(j=&U=&U/&e;&U;&z=&7&RQ+&Z-&RA&U3&v7&W5&X?&fE&RZ%&X'&\9&j=&Y-&fK&RT3&X;&9&$&3&/&1&S'&%&XE&SI&^K&i;&M&S7)~"
    R"~(&^/&W5&f-&W'&#&eG&RW=&VI&`G&S7&bI&S1&nI&VA&Rm-&]3&S?&^gF&Sis)&SalD,]k*&x?&T2&f,&dC&S=&_-&S-&n3&T(&SO&T)~"
    R"~(+&l9&TK&W1&C&\E&Y?&yG&1&W/&SO&^#&V)&T$&VI&RP&W3&SK&b5&TI&S3&\1&]7&X'&+&S=&RQ%&SI&b#&bI&B&TG&[O&_?&Rh/&)~"
    R"~(R_>&V1&V3&_-&W9&S1&ZI&'&X7&E&R'&TE&6&b-&f'&\G&Y)&ZE&WA&_3&YA&uE&WI&x5&dI&T#&C&]M&S9&RN&S3&(&D&T1&T;&a?)~"
    R"~(&i3&^A&]I&Z?&}G&U9&V#&VG&R=&;&S'&p?&RU;&STQC&.&SuE&SoQ*&RTK&R7&Su\I&Sj+&Y[=&SiRD&T/U8vYH[b6*R')E47'#%')~"
    R"~(R^b)$'#%'R^c,8'#%'#+'%#'%#'%#'%#'%#'%#*'#'%#'%#'%#'%#*'#*'#'%#*'#'%#*'#'%#'%#'%#'%#'L('*/'7#'5#Xr?Rci=)~"
    R"~(Rcl?+'#R$7#Y>W'UE(%#t/h+h/(#R'hPa'`7(#6+#=a9\'[;(%#RgUE~c/~d1'%#'15'#%'#%'#%'#%VCTM<'%#'%5'%#'$%'%#S_u)~"
    R"~(CSRsP&,&5&S^[5&S]|L&T5&=&T'&V-&R3&T5&R$&WvF&Seo7&S^r*&1&C&I&S^cM&SeaH&W|-&RA&S^e#&S^d<&=&p@&q#&5&TRcO&)~"
    R"~(TRa*&?&XS2&XUG&9&RM&-&XV$&XY;&'&R+&O&9&%&E&S+&3&5&R'&7&'&#&#&S_WA&SXW:&W{J&M&S_a#&S_`8&/&M&W?&U6&C&R5&)~"
    R"~(S;&TA&R)&SM&C&R7&#&M&G&3&A&_G&\H&\K&Y>&R;&RT.&RoI&]:&RA&R'&V@&X/&$&V3&S`g3&S`d0&-&A&K&3&SG&S`s'&SK&S`o)~"
    R"~(N&S%&;&T6&W+&YkF&?&Yr-&S3&#&SaS+&S`{4&M&A&;&SaYM&SaY4&1&uE&t:&YxB&Y{5&?&T=&S,&Sar3&Saj6&Saj;&Sah@&(&E&)~"
    R"~(U5&%&ZV>&ZWG&RK&M&RM&ZZ.&Ska-&Sk`&&Z\-&)&)&K&TSi3&TSg&&Sbd+&#&SY|8&Ye(&#&Z]L&Sod3&\c?&Sqg.&5&Z_J&ZaM&S)~"
    R"~(-&7&R9&VM&Zh*&R0&Zj1&Sb{#&SbxF&V?&+&'&&&S#&K&R=&>&9&S%&K&+&R)&9&SK&TA&R;&V5&Sc];&Sc^2&SH&UC&R+&U-&Sca%)~"
    R"~(&Sc^2&U$&R,&[RB&[[%&M&R3&R@&[XN&[b3&R/&Sc}?&Scx6&]%&X>&[eB&[hI&[i<&R<&Vg7&)&VY5&U2&W_)&_r$&Yi/&+&/&SA&)~"
    R"~(8&SdcK&SoT$&[v7&V&&YM&S-&Sd]O&Sd]<&UH&[A&\Q$&\S%&U-&T'&Y/&Sd^G&Sd\<&\_8&\b;&SdoO&SdmD&\b4&\cC&RO&R+&%&)~"
    R"~(Sd~5&XW6&X\+&Sd|D&Seb1&Se]4&?&U6&X?&RE&S9&S2&RE&A&=&SeY%&Se\<&[M&SE&\zN&]Q#&*&Se]O&SefL&a-&Se\I&S'&Se[)~"
    R"~(&&V#&R*&(&][0&]]3&S-&.&S3&SVxM&SVr0&SeiO&Sef*&Set7&Sen2&=&R+&SfXM&SfVH&M&Sfc#&ZC&SfbD&E&]u8&]v?&]v&&#&)~"
    R"~(]})&M&M&K&T#&]~:&^T7&Sf~-&Sf}&&SgS'&Sf~L&S\lK&S\eL&Sgl#&R#&W'&StvP&;&^^1&SgpG&$&RC&R)&SgqD&%&#&RK&^_L&)~"
    R"~(^bE&^b*&T9&Sum)&ShVN&SC&SG&^i0&SvR7&Shb(&Shg+&RK&Shf<&U#&^r8&^v+&7&-&Sh|7&^#&#&SiT:&^t<&SwU5&SiV6&)&^|)~"
    R"~(8&Sw]%&SiT$&_TD&_UC&,&R/&SisC&Sio4&_VH&_[+&S=&SM&_^6&Sxb1&R3&Sxb$&Sxh5&Si}(&SjS;&SjR2&U5&9&Sj_5&T+&Sj^)~"
    R"~(>&Sjd5&SjcB&S^\#&Slz<&_r7&T;&_s>&_v+&Z_L&StQK&?&]m.&5&S]{,&)&T^5&cYP&`RE&.&G&\l0&\m+&'&7&RG&SkX5&SkX6&)~"
    R"~(S7&T%&T-&VP&WC&RI&UK&\0&V+&'&C&SkX=&^7&W:&Szg.&`dI&'&R;&Slq/&SlmJ&Skh9&S{Q(&+&S{VE&]=&S{bJ&`q1&;&9&'&S)~"
    R"~(G&R6&VI&RL&W=&T:&SM&R+&`z&&`~%&R5&`}N&aT'&)&Sli?&Sld<&1&aVN&aX+&ebB&TS`'&Y#&S}W>&5&ad+&T3&WI&YI&SmU1&S)~"
    R"~(mQ<&O&TM&U#&SmdI&mw4&R~hF&@&S/&R~pA&R~fD&U3&Snm+&R+&Sn_,&U%&R5&SngE&Sng0&]5&WM&%&TP&a=&R-&Sn{=&Snk0&cb)~"
    R"~(8&cd5&SnyO&TS[H&cl;&^v*&^z3&Sof9&Z/&TT[:&3&crA&So}'&TTn(&TTt-&SpS0&#&R1&Sp^;&SpV8&cu@&cxE&V9&R+&S?&c{.)~"
    R"~(&TVU3&Sp{&&^)&Y-&dc8&R3&dfE&SqqA&TWXL&TW[1&\;&VC&Sqv8&dpN&dsA&-&1&7&1&R?&Sri))~";
// clang-format on

/// Runs of one combining class other than 0: the step from the end of the last, how many code points, the class.
// clang-format off
inline constexpr std::string_view nfc_classes =
    R"~(aC8V##$V%#'UG#$V%#$UC#(UG#%U5#'UG#%U5#.UG#($#'UG#+V##$V-#$V##&UG#&V##%UG$&V##'UG#$V##$V%#%UG#$V##$V&#%)~"
    R"~(V'#$V&#%V'#$V&#0V#VP(V#VF$UG#'V##$UG#&V##$UI#$UG#)V##)UG#%V##$UG#%V##$UI#$UO#$V##$-#$.#$/#$0#$1#$2#$3#)~"
    R"~($4#$5#%6#$7#$8#$9$$:$$;#$<$$V##$UG$$5R=+V##$A#$B#$CR%$>#$?#$@#$A#$B#$C#$D#$E#%V##%UG#(V##$UG#%V##$UG3$)~"
    R"~(FS,*V#%'V##$UG#$V#%%V#$$UG#%V##$UGF$GA$V##$UG#%V##$UG#%V##&UG#$V##%UG#$V##$UG#&V##$UG#$V##$UG#$V##$UG#)~"
    R"~($V##$UG#%V#T9*V##$UG#$V#E'V#$,V#$&V#$(V#N&UGS?1V#$$UG#%V##$UG#%V##$UG#&V##&UG#$>#$?#$@#&V##$UG#%V##%UG)~"
    R"~(#(V#R1$*3$,&$V##$UG#%V#S.$*3$,S5$*3$,S5$*3$,S5$*3$,SF$,SF$,*$RI#$RPS,$*3$,SF$,SC$,S4%S.#$,0'S2S3%S=1'S)~"
    R"~(ARA%UG>$UG$$UG$$UCR,$SH#$SI$$SK('SI%$SI$%V##$,$%V#R3$UGS7$*$%,RG$UG`@&V#e?$,B$,T6$,-$V#U6$UOT($UI#$V##)~"
    R"~($UGUF$V##$UGR<$,7+V#%$UGR%(V##)UG#%V##$UGS=$*2$,I$V##$UG#*V#R+%,R/$*.%,R8$*T1&V#$$$#(UG#%V##'UG#$V#$*$)~"
    R"~('$UG)$V#&%V#U1%V##$UG#*V##$UG#%V##$V'#$UA#$UG#$U5#HV#($V##$V&#$UG#$V##$UG`A%V##%$#'V##&$#%V#'$V#&%$#$V)~"
    R"~(##$UG#$V##%$#'UG#$V#ReE&V#T&$,S'CV#]%$UE#$UO#$V%#$UI#%UKS0%+_\E$V#'-V#C%V#RE%V#W#$,U($,>5V#R.&UGH$,S&$)~"
    R"~(*/$,V,$V#$%V##$UG%%V#(%V#$$V#R)$,V3$,ZkC$=aD*V##*UG#%V#f*$UGUM$UGT.(V#u=$UG$$V#K$V##$$#$UG'$,T>$V##$UG)~"
    R"~(nL$,R-$,R.$,#$*R:&V#R%%,R3$*RA$,,$*S1$,#$*TK$*#$,RF$*3$,;*V#&(V#U8$,&$*SB$,#$*V8$,#$*SE$,S=$,#$*S:$,m.)~"
    R"~($,ZhM($R0*V#Zx$$$Sh?%UC#&$&$UM#(UC++UG%(V##%UGA'V#T-&V#Ro6*V#$4V#%*V#$%V#$(V#RS(*UGS4)V##$*)~";
// clang-format on

/// Takes the numbers off the front of a text, one by one.
class nfc_numbers {
 public:
    explicit nfc_numbers(std::string_view text) : text_(text) {}

    bool has_more() const { return at_ < text_.size(); }

    std::uint32_t next() {
        for (std::uint32_t value = 0;;) {
            const auto digit = static_cast<std::uint32_t>(text_[at_++] - '#');
            value = value * 46 + digit % 46;
            if (digit < 46) return value;
        }
    }

    /// A signed step on from `value`.
    std::uint32_t step(std::uint32_t value) {
        const std::uint32_t coded = next();
        return coded % 2 == 0 ? value + coded / 2 : value - coded / 2 - 1;
    }

 private:
    std::string_view text_;
    std::size_t at_ = 0;
};

/// What a code point is made of; `second` is 0 where it is one.
struct nfc_parts {
    std::uint32_t first;
    std::uint32_t second;
};

/// The tables, unpacked.
class nfc_tables {
 public:
    static const nfc_tables& shared() {
        static const nfc_tables tables;
        return tables;
    }

    /// Null where the code point is not made of others.
    const nfc_parts* parts_of(std::uint32_t point) const {
        const auto found = parts_.find(point);
        return found == parts_.end() ? nullptr : &found->second;
    }

    /// 0 where the two do not compose.
    std::uint32_t composed(std::uint32_t first, std::uint32_t second) const {
        const auto found = composed_.find(key(first, second));
        return found == composed_.end() ? 0 : found->second;
    }

    std::uint32_t class_of(std::uint32_t point) const {
        const auto found = classes_.find(point);
        return found == classes_.end() ? 0 : found->second;
    }

 private:
    nfc_tables() {
        std::uint32_t point = 0, first = 0, second = 0;
        for (nfc_numbers numbers(nfc_decompositions); numbers.has_more();) {
            const std::uint32_t coded = numbers.next();
            point += coded / 3;
            first = numbers.step(first);
            if (coded % 3 != 0) second = numbers.step(second);
            parts_.emplace(point, nfc_parts{first, coded % 3 == 0 ? 0 : second});
            if (coded % 3 == 2) composed_.emplace(key(first, second), point);
        }
        std::uint32_t begin = 0;
        for (nfc_numbers numbers(nfc_classes); numbers.has_more();) {
            begin += numbers.next();
            const std::uint32_t end = begin + numbers.next(), kind = numbers.next();
            for (; begin < end; ++begin) classes_.emplace(begin, kind);
        }
    }

    static std::uint64_t key(std::uint32_t first, std::uint32_t second) {
        return static_cast<std::uint64_t>(first) << 32 | second;
    }

    std::unordered_map<std::uint32_t, nfc_parts> parts_;
    std::unordered_map<std::uint64_t, std::uint32_t> composed_;
    std::unordered_map<std::uint32_t, std::uint32_t> classes_;
};

}  // namespace augur::io::detail
